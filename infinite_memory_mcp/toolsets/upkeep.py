"""The tool that runs the upkeep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.upkeep.describe import describe_report, shown_steps
from infinite_memory_mcp.arguments import Arguments
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.quotation import escape_label
from infinite_memory_mcp.tool import Answer, ToolSpec
from infinite_memory_mcp.view import view_of_ids

if TYPE_CHECKING:
    from infinite_memory.store import MemoryStore

__all__ = ["UPKEEP"]

_UNDO = "undo with entry {}"


class OptimizeMemory(Arguments):
    """The arguments of `optimize_memory`."""

    dry_run: bool = Field(False, description="Only say what would be done")
    job: str | None = Field(None, description="Run only this job, due or not")


def optimize_memory(store: MemoryStore, arguments: OptimizeMemory) -> Answer:
    """Do the upkeep that is due: archive what is old and unused, link, back up, compact.

    Nothing is erased unless the user's configuration says so; undo takes each job back.
    """
    jobs = None if arguments.job is None else [arguments.job]
    report = store.upkeep.optimize(dry_run=arguments.dry_run, jobs=jobs)
    ids = list(dict.fromkeys(step.memory_id for step in shown_steps(report)))
    view = view_of_ids(store, ids)
    short_ids = {memory_id: view.shorten(memory_id) for memory_id in ids}
    lines = [escape_label(line) for line in describe_report(report, short_ids, undo=_UNDO)]
    return Answer(text="\n".join(lines), data=report.to_dict())


UPKEEP = (
    ToolSpec(
        run=optimize_memory,
        arguments=OptimizeMemory,
        title="Do the upkeep",
        answers=object_schema("dry_run", "jobs"),
        destroys=True,
    ),
)
"""The tool of the upkeep."""
