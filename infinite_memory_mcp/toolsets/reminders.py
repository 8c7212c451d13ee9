"""The tool that lists what is due and what comes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.search.text.quotation import NOTICE, quote_label
from infinite_memory_mcp.arguments import Arguments, Scopes
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.view import View, view_of_ids

if TYPE_CHECKING:
    from infinite_memory.features.reminders.coming import ComingDay
    from infinite_memory.store.memory_store import MemoryStore

_TEXT_CHARS = 240
_MOST_SHOWN = 50


class Reminders(Arguments):
    """The arguments of `reminders`."""

    days: int = Field(7, ge=0, le=366, description="So many days ahead")
    scope: Scopes = None


@tool("What is due", object_schema("days"), reads=True)
def reminders(store: MemoryStore, arguments: Reminders) -> Answer:
    """List what is due, overdue or coming: reminders, and days that memories name.

    store_memory with kind reminder and happened_at makes one.
    """
    coming = store.triggers.coming(within=timedelta(days=arguments.days), scope=arguments.scope)
    shown = coming.days[:_MOST_SHOWN]
    view = view_of_ids(store, [day.memory.id for day in shown])
    zone = store.config.time_zone
    lines = [_render_day(day, view, zone) for day in shown]
    more = len(coming.days) - len(shown)
    if more:
        lines.append(f"and {more:,} more: ask for fewer days")
    if any(day.told_by for day in shown):
        lines.append('What is done: more(tool="reminder_done", arguments={"id": ...}).')
    if coming.unchecked:
        number = format_count(len(coming.unchecked), "condition")
        lines.append(f"{number} could not be checked in time.")
    if not coming.days:
        lines.insert(0, f"Nothing is due within {format_count(arguments.days, 'day')}.")
    head = [NOTICE] if coming.days else []
    return Answer(text="\n".join([*head, *lines]), data=coming.to_dict())


def _render_day(day: ComingDay, view: View, zone: str | None) -> str:
    local, memory = in_zone(day.at, zone), day.memory
    date = f"{local:%A} {local:%Y-%m-%d %H:%M}" if day.is_timed else f"{local:%A} {local:%Y-%m-%d}"
    texts = [memory.text] if day.told_by is None else [memory.text, day.told_by.text]
    quoted = [quote_label(text, max_chars=_TEXT_CHARS, always=True) for text in texts]
    head = f"{day.when} · {date} · {memory.kind} · {quote_label(memory.scope)}"
    return f"- {head} · id {view.shorten(memory.id)} · {' · done as this says? '.join(quoted)}"


REMINDERS = (reminders,)
"""The tool of what is due."""
