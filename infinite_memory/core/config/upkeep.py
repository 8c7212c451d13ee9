"""The settings of the upkeep and of summaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from infinite_memory.core.config.section import ScopeName, Section
from infinite_memory.core.values.scope import fold_name


class Retention(StrEnum):
    """How much the upkeep archives: nothing, old and unused memories, or more of them."""

    KEEP_ALL = "keep_all"
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"


def _parse_mapping(value: object) -> object:
    """Return a mapping; a variable of the environment holds it as a JSON object."""
    return json.loads(value) if isinstance(value, str) else value


def _endpoint(url: str | None) -> str | None:
    if url is not None and not url.startswith(("http://", "https://")):
        raise ValueError("give the base URL of the service, such as http://127.0.0.1:11434/v1")
    return None if url is None else url.rstrip("/")


class ScopeRules(Section):
    """The rules of the upkeep for a scope.

    - `retention`: in place of `upkeep.retention`.
    - `include`: False leaves the scope out of every job, True includes a private scope.
    - `keep_days`: a time to live. Older memories are archived, whatever they are; with `erase` they
      are erased for good instead.
    - `max_memories`: with more current memories, the least valuable are archived.
    - `retired`: everything in the scope is exported and then archived.
    """

    retention: Retention | None = None
    include: bool | None = None
    keep_days: Annotated[int, Field(ge=1, le=100_000)] | None = None
    erase: bool = False
    max_memories: Annotated[int, Field(ge=1)] | None = None
    retired: bool = False

    @model_validator(mode="after")
    def _check_erase(self) -> ScopeRules:
        if self.erase and self.keep_days is None:
            raise ValueError("erase needs keep_days, the age at which memories are erased")
        return self


def _refuse_repeats(rules: Mapping[str, ScopeRules]) -> Mapping[str, ScopeRules]:
    """Refuse two rules for one scope: letter case does not count in its name."""
    seen: set[str] = set()
    for name in rules:
        if fold_name(name) in seen:
            raise ValueError(f"{name!r:.200} is named twice: give it once")
        seen.add(fold_name(name))
    return rules


class Upkeep(Section):
    """The upkeep of a store that grows and ages.

    - `worker`: whether a server does the upkeep in the background.
    - `retention`: "keep_all", "moderate" or "aggressive". `min_age_weeks`: nothing younger is
      archived or summarised by a retention.
    - `quiet_hour`: the hour of the local time, 0 to 23, in which heavy jobs begin.
    - `private_scopes`: whether private scopes are included.
    - `max_memories`, `max_megabytes`: with more current memories, or a larger store, the least
      valuable memories are archived.
    - `daily_backups`, `weekly_backups`: how many scheduled backups are kept; 0 and 0 make none.
    - `scopes`: rules by the name of a scope, see `ScopeRules`.
    """

    worker: bool = True
    retention: Retention = Retention.MODERATE
    min_age_weeks: Annotated[int, Field(ge=1, le=5000)] = 4
    quiet_hour: Annotated[int, Field(ge=0, le=23)] = 3
    private_scopes: bool = False
    max_memories: Annotated[int, Field(ge=1)] | None = None
    max_megabytes: Annotated[int, Field(ge=1)] | None = None
    daily_backups: Annotated[int, Field(ge=0, le=1000)] = 7
    weekly_backups: Annotated[int, Field(ge=0, le=1000)] = 4
    scopes: Annotated[
        Mapping[ScopeName, ScopeRules],
        BeforeValidator(_parse_mapping),
        AfterValidator(_refuse_repeats),
    ] = {}

    def rules_of(self, scope: str) -> ScopeRules:
        """Return the rules of a scope, without an effect if it has none."""
        folded = fold_name(scope)
        named = (rules for name, rules in self.scopes.items() if fold_name(name) == folded)
        return next(named, ScopeRules())


class Summaries(Section):
    """Who writes summaries: the built-in summariser, or a model behind an endpoint.

    - `endpoint`: the base URL of a service with the API of OpenAI, such as
      "http://127.0.0.1:11434/v1"; None means the built-in summariser, which is local.
    - `model`: the name of the model there. `api_key`: sent as a bearer token.
    - `timeout_seconds`: how long an answer is waited for.
    """

    endpoint: Annotated[str | None, AfterValidator(_endpoint)] = None
    model: str | None = None
    api_key: SecretStr | None = None
    timeout_seconds: Annotated[float, Field(ge=1, le=3600)] = 60

    @model_validator(mode="after")
    def _check_model(self) -> Summaries:
        if self.endpoint is not None and self.model is None:
            raise ValueError("endpoint needs model, the name of the model that writes summaries")
        return self
