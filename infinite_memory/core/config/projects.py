"""The settings of project memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from infinite_memory.core.config.section import Section
from infinite_memory.core.values.scope import Sensitivity, fold_name

_PREFIX = "repo/"
_NAME = re.compile(r"(?!~)[\w.~+%-]+(?:/[\w.~+%-]+)+")


def _parse_mapping(value: object) -> object:
    """Return a mapping; a variable of the environment holds it as a JSON object."""
    return json.loads(value) if isinstance(value, str) else value


def _check_names(rules: Mapping[str, RepositoryRules]) -> Mapping[str, RepositoryRules]:
    """Refuse a name that is that of no repository: its rules would be passed over in silence."""
    seen: set[str] = set()
    for name in rules:
        folded = _fold(name)
        if not _NAME.fullmatch(folded):
            raise ValueError(
                f"{name!r:.200} is no name of a repository: give HOST/OWNER/NAME, such as"
                " github.com/octo/apollo, or local/FOLDER/NAME for one without a remote"
            )
        if folded in seen:
            raise ValueError(f"{name!r:.200} is named twice: give it once")
        seen.add(folded)
    return rules


def _parse_patterns(value: object) -> tuple[str, ...]:
    """Return a list of patterns; in a variable of the environment there are commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
        raise ValueError('give a list of patterns, such as ["*.env", "secrets/*"]')
    patterns = tuple(dict.fromkeys(item.strip() for item in listed))
    if any(not item or item.strip("*?/") == "" for item in patterns):
        raise ValueError("a pattern names something, such as *.env; it cannot stand for every file")
    return patterns


_Patterns = Annotated[tuple[str, ...], BeforeValidator(_parse_patterns)]


class RepositoryRules(Section):
    """The rules of a repository.

    - `enabled`: whether anything of it is stored. `sensitivity`: that of its scope, when it is
      created.
    - `retention_days`: its memories are archived at that age.
    - `exclude`: patterns of files, beside those of `projects.exclude`, whose names and contents
      are never stored.
    """

    enabled: bool = True
    sensitivity: Sensitivity | None = None
    retention_days: Annotated[int, Field(ge=1, le=100_000)] | None = None
    exclude: _Patterns = ()


class Chunking(Section):
    """When a session is cut into chunks.

    - `minutes`: the length of work on a single topic after which the next pause is a cut.
    - `files`: after so many changed files, a request that is mostly about other files is a cut.
    - `pause_minutes`: a pause so long is a cut.
    - `topic_distance`: how far a request must be from the topic before it, as 1 minus the cosine
      of their embeddings, to be a jump.
    """

    minutes: Annotated[float, Field(ge=1, le=1440)] = 10
    files: Annotated[int, Field(ge=1, le=1000)] = 3
    pause_minutes: Annotated[float, Field(ge=1, le=100_000)] = 45
    topic_distance: Annotated[float, Field(ge=0, le=2)] = 0.4


class Projects(Section):
    """The memory of what was done in repositories.

    - `sessions`: whether the sessions that hooks note are cut into chunks.
    - `exclude`: patterns of files whose names and contents are never stored in chunks.
    - `repositories`: rules by the name of a repository, "HOST/OWNER/NAME".
    """

    sessions: bool = True
    exclude: _Patterns = ("*.env", ".env.*", "*.key", "*.pem", "*.p12", "id_rsa*", "id_ed25519*")
    repositories: Annotated[
        Mapping[str, RepositoryRules],
        BeforeValidator(_parse_mapping),
        AfterValidator(_check_names),
    ] = {}

    def rules_of(self, scope: str) -> RepositoryRules:
        """Return the rules of the repository with that scope, with every pattern it excludes."""
        wanted = _fold(scope)
        rules = next(
            (rules for name, rules in self.repositories.items() if _fold(name) == wanted),
            RepositoryRules(),
        )
        return rules.model_copy(update={"exclude": (*self.exclude, *rules.exclude)})


def _fold(name: str) -> str:
    return fold_name(name).removeprefix(_PREFIX)
