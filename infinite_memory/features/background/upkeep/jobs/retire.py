"""Retire scopes: export everything in them, then archive it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.exchange import ExportFormat
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.features.archive.exchange.exporting import ExportRequest, run_export
from infinite_memory.features.archive.exchange.folder_export import file_name
from infinite_memory.features.archive.exchange.selection import choose_memories
from infinite_memory.features.background.upkeep.changes import Changes
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.features.background.upkeep.policies.verdict import Verdict
from infinite_memory.features.background.upkeep.report import StepAction


def _plan_retirement(context: JobContext) -> Plan:
    """Return the plan for the first retired scope that holds current memories."""
    names = [name for name, rules in context.settings.scopes.items() if rules.retired]
    waiting = {
        name: memories for name in names if (memories := _read_current(context, name)) is not None
    }
    if not waiting:
        return Plan()
    name, memories = next(iter(waiting.items()))
    retired = memories[:MAX_CHANGES]
    known = _find_known_export(context, name, retired)
    exported_at, path = (context.now, _make_path(context, name)) if known is None else known
    changes = Changes(context)
    verdict = Verdict(StepAction.ARCHIVE, f"the scope {name} is retired; it is in {path}")
    changes.add((memory, verdict) for memory in retired)
    is_last = len(memories) <= MAX_CHANGES
    return Plan(
        prepare=None if known is not None else lambda: _export_scope(context, name, path),
        intends=() if known is not None else (f"Export {name} into {path}.",),
        steps=changes.steps(),
        commit=changes.commit(),
        notes={_name_note(name): "" if is_last else f"{iso(exported_at)} {path}"},
        more=not is_last or len(waiting) > 1,
    )


def _export_scope(context: JobContext, name: str, path: Path) -> Sequence[str]:
    """Export a scope, whatever its sensitivity.

    Raises:
        StorageUnavailable: the file cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(
            f"the folder {path.parent} cannot be made ({error.strerror}), and {name} was not"
            " retired: look at what is there, and at its permissions"
        ) from error
    selection = choose_memories(context.services, {"scope": [name]}, private=True)
    # A run that begins again after a conflict replaces the file of its first attempt.
    request = ExportRequest(path=path, format=ExportFormat.JSONL, selection=selection, force=True)
    exported = run_export(context.services, request)
    return (f"Exported {exported.memories:,} memories of {name} into {path}.",)


def _read_current(context: JobContext, name: str) -> list[Memory] | None:
    """Return the current memories of a scope, up to a memory more than a run changes, or None."""
    if name not in context.scopes:
        return None
    criteria = Criteria(scopes=frozenset({name}), statuses=frozenset({Status.CURRENT}))
    page = context.services.storage.find(criteria, limit=MAX_CHANGES + 1)
    return list(page.memories) or None


def _make_path(context: JobContext, name: str) -> Path:
    stem = file_name(name).removesuffix(".md")
    folder = context.services.config.home / "export"
    return folder / f"{stem}-{context.now:%Y%m%dT%H%M%SZ}.jsonl"


def _find_known_export(
    context: JobContext, name: str, memories: Sequence[Memory]
) -> tuple[datetime, Path] | None:
    """Return the export of an earlier run that holds all `memories` as they are, or None."""
    time, _, path = context.notes.get(_name_note(name), "").partition(" ")
    try:
        exported_at = datetime.fromisoformat(time)
    except ValueError:
        return None
    # What was stored at the same moment may have come after it.
    has_all = all(memory.stored_at < exported_at for memory in memories)
    return (exported_at, Path(path)) if has_all and Path(path).is_file() else None


def _name_note(name: str) -> str:
    return f"retire/{name}"


RETIRE = Job(
    name="retire",
    summary="Export and archive the scopes that the configuration retires.",
    every=timedelta(days=1),
    plan=_plan_retirement,
    whole_store=True,
)
