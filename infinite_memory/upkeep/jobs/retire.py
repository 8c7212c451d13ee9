"""Retire scopes: export everything in them, then archive it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from infinite_memory.exchange.exporting import ExportRequest, run_export
from infinite_memory.exchange.folder_export import file_name
from infinite_memory.exchange.selection import choose_memories
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.exchange import ExportFormat
from infinite_memory.model.memory import Memory, Status
from infinite_memory.upkeep.changes import Changes
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.upkeep.policies.verdict import Verdict
from infinite_memory.upkeep.report import StepAction

__all__ = ["RETIRE"]


def _plan(context: JobContext) -> Plan:
    """Return the plan for the first retired scope that holds current memories."""
    names = [name for name, rules in context.settings.scopes.items() if rules.retired]
    waiting = {
        name: memories for name in names if (memories := _current(context, name)) is not None
    }
    if not waiting:
        return Plan()
    name, memories = next(iter(waiting.items()))
    path = _export_path(context, name)
    changes = Changes(context)
    verdict = Verdict(StepAction.ARCHIVE, f"the scope {name} is retired; it is in {path}")
    changes.add((memory, verdict) for memory in memories[:MAX_CHANGES])

    def export() -> Sequence[str]:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        selection = choose_memories(context.services, {"scope": [name]}, private=True)
        # A run that begins again after a conflict replaces the file of its first attempt.
        request = ExportRequest(
            path=path, format=ExportFormat.JSONL, selection=selection, force=True
        )
        exported = run_export(context.services, request)
        return (f"Exported {exported.memories:,} memories of {name} into {path}.",)

    # The note is of an export that is there: a run that goes on needs no second one.
    is_exported = context.notes.get(_note(name)) == str(path)
    return Plan(
        prepare=None if is_exported else export,
        intends=() if is_exported else (f"Export {name} into {path}.",),
        steps=changes.steps(),
        commit=changes.commit(),
        notes={_note(name): str(path) if len(memories) > MAX_CHANGES else ""},
        more=len(memories) > MAX_CHANGES or len(waiting) > 1,
    )


def _current(context: JobContext, name: str) -> list[Memory] | None:
    """Return the current memories of a scope, up to a memory more than a run changes, or None."""
    if name not in context.scopes:
        return None
    criteria = Criteria(scopes=frozenset({name}), statuses=frozenset({Status.CURRENT}))
    page = context.services.storage.find(criteria, limit=MAX_CHANGES + 1)
    return list(page.memories) or None


def _export_path(context: JobContext, name: str) -> Path:
    """Return where a scope is exported: the place of an export that goes on, or a new file."""
    known = context.notes.get(_note(name))
    if known and Path(known).is_file():
        return Path(known)
    stem = file_name(name).removesuffix(".md")
    folder = context.services.config.home / "export"
    return folder / f"{stem}-{context.now:%Y%m%dT%H%M%SZ}.jsonl"


def _note(name: str) -> str:
    return f"retire/{name}"


RETIRE = Job(
    name="retire",
    summary="Export and archive the scopes that the configuration retires.",
    every=timedelta(days=1),
    plan=_plan,
    whole_store=True,
)
