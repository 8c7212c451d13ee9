"""The view that a job has of an open store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property

from infinite_memory.core.config import ScopeRules, Upkeep
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.engine.embed import never
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.notes import write_notes


class JobContext:
    """The store, the time and the settings of one run of the upkeep.

    `services` are the parts of the store, `now` is the time of the run, `notes` are the notes of
    the jobs. `stop` returns whether to end soon; a job asks it between batches of at most a tenth
    of a second, and then returns its result so far. `lease` is the fencing number of the worker,
    None without a lease.
    """

    def __init__(
        self,
        services: Services,
        *,
        notes: Mapping[str, str],
        stop: Callable[[], bool] = never,
        lease: int | None = None,
    ) -> None:
        self.services = services
        self.now: datetime = services.clock()
        self.notes = notes
        self.stop = stop
        self.lease = lease
        self._keeps_notes = True

    @property
    def settings(self) -> Upkeep:
        """The settings of the upkeep."""
        return self.services.config.upkeep

    @cached_property
    def scopes(self) -> Mapping[str, Scope]:
        """The scopes that the upkeep may touch, by name."""
        return {
            name: scope
            for name, scope in self.services.storage.scopes().items()
            if self._may_touch(scope)
        }

    def rules_of(self, scope: str) -> ScopeRules:
        """Return the rules of a scope; a repository may have its time to live in its own rules."""
        rules = self.settings.rules_of(scope)
        days = self.services.config.projects.rules_of(scope).retention_days
        if rules.keep_days is not None or days is None:
            return rules
        return rules.model_copy(update={"keep_days": days})

    def keep_notes(self, notes: Mapping[str, str]) -> None:
        """Keep notes for the next run; a failure is logged once, though each job meets it."""
        self._keeps_notes = write_notes(self.services, notes, quiet=not self._keeps_notes)

    def _may_touch(self, scope: Scope) -> bool:
        include = self.settings.rules_of(scope.name).include
        if include is not None:
            return include
        return scope.sensitivity is Sensitivity.NORMAL or self.settings.private_scopes
