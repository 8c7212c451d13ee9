"""The tools of the backups: make, list, delete and restore them.

A tool knows backups by their names in the folder of the home folder alone: a path that an assistant
was talked into would write or read any file of the user.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.archive.backup import describe_encryption, describe_keys_left_out
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.search.text.quotation import escape_line, quote_label
from infinite_memory_mcp.arguments import Arguments
from infinite_memory_mcp.data import compact, object_schema
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.overview import NoArguments

if TYPE_CHECKING:
    from infinite_memory.core.values.archive.backup import Backup, Restored
    from infinite_memory.store.memory_store import MemoryStore

_MOST_LISTED = 20
_MAX_PATH_CHARS = 1000


class BackupName(Arguments):
    """The arguments of `delete_backup`."""

    name: str = Field(description="A name that list_backups shows")


class RestoreMemory(Arguments):
    """The arguments of `restore_memory`."""

    name: str = Field(description="A name that list_backups shows")
    mode: Literal["empty", "merge", "overwrite"] = Field(
        "merge",
        description="merge adds what is missing; overwrite replaces all, after a backup; empty"
        " needs a store that holds nothing",
    )


@tool("Back up", object_schema("name", "size_bytes"))
def backup_memory(store: MemoryStore, _arguments: NoArguments) -> Answer:
    """Back up everything into a new file on the machine of the memory."""
    backup = store.backups.create()
    return Answer(text=f"Backed up: {_render_backup(backup)}", data=compact(backup))


@tool("List backups", object_schema("backups"), reads=True)
def list_backups(store: MemoryStore, _arguments: NoArguments) -> Answer:
    """List the backups, newest first."""
    backups = store.backups.list()
    lines = [_render_backup(backup) for backup in backups[:_MOST_LISTED]]
    more = len(backups) - _MOST_LISTED
    if more > 0:
        lines.append(f"and {format_count(more, 'older backup')}")
    return Answer(
        text="\n".join(lines) or "There are no backups: backup_memory makes one.",
        data={"backups": [compact(backup) for backup in backups]},
    )


@tool("Delete a backup", object_schema("deleted"), destroys=True)
def delete_backup(store: MemoryStore, arguments: BackupName) -> Answer:
    """Delete a backup for good, when the user asks for it."""
    name = find_backup(store, arguments.name).name
    store.backups.delete(name)
    return Answer(text=f"Deleted the backup {quote_label(name)}.", data={"deleted": name})


@tool("Restore a backup", object_schema("mode", "counts"), destroys=True)
def restore_memory(store: MemoryStore, arguments: RestoreMemory) -> Answer:
    """Bring back what a backup holds, when the user asks for it."""
    backup = find_backup(store, arguments.name)
    # By its path: a file of that name in the working folder of the server is another file.
    restored = store.backups.restore(backup.path, mode=arguments.mode)
    return Answer(
        text="\n".join(_describe_restored(restored, backup.name)), data=restored.to_dict()
    )


def find_backup(store: MemoryStore, name: str) -> Backup:
    """Return the backup that the list shows under `name`.

    Raises:
        NotFound: no backup has it; the message names the nearest.
    """
    known = {backup.name: backup for backup in store.backups.list()}
    if name in known:
        return known[name]
    near = get_close_matches(name[:200], known, n=1, cutoff=0.0)
    hint = f"the nearest is {near[0]!r}" if near else "there are none; backup_memory makes one"
    raise NotFound(f"there is no backup {name!r:.200}: {hint}")


def _describe_restored(restored: Restored, name: str) -> list[str]:
    encryption = describe_encryption(encrypted=restored.encrypted)
    if restored.mode == "merge":
        lines = [
            f"Merged {quote_label(name)}, {encryption}: added {restored.added}, changed"
            f" {restored.changed}, left {restored.unchanged} as they were."
        ]
        if restored.added or restored.changed:
            lines.append("undo takes it back; more than 20,000 memories are several entries.")
    else:
        memories = format_count(restored.counts.get("memories", 0), "memory", "memories")
        lines = [f"Restored {quote_label(name)}, {encryption}: {memories}."]
    if restored.access_keys_left_out:
        command = f"infinite-memory restore {escape_line(name)} --merge --with-keys"
        way = f"on the machine of the memory, `{command}` takes them"
        lines.append(describe_keys_left_out(restored.access_keys_left_out, way))
    if restored.still_erased:
        number = format_count(restored.still_erased, "memory", "memories")
        lines.append(f"{number} of it stay erased, as they were erased here.")
    if restored.safety_backup is not None:
        path = quote_label(restored.safety_backup, max_chars=_MAX_PATH_CHARS)
        lines.append(f"What was there before is in {path}.")
    if restored.left_out:
        number = format_count(len(restored.left_out), "record")
        lines.append(f"{number} could not be restored: {escape_line(restored.left_out[0].what)}")
    return lines


def _render_backup(backup: Backup) -> str:
    columns = [quote_label(backup.name), str(iso(backup.created_at))]
    if backup.counts is not None:
        columns.append(format_count(backup.counts.get("memories", 0), "memory", "memories"))
    columns.append(format_size(backup.size_bytes))
    columns.append(describe_encryption(encrypted=backup.encrypted))
    if backup.left_out_count:
        columns.append(f"lacks {format_count(backup.left_out_count, 'damaged record')}")
    return " · ".join(columns)


BACKUPS = (backup_memory, list_backups, delete_backup, restore_memory)
"""The tools of the backups."""
