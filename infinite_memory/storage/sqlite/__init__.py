"""The embedded default: a SQLite database that any number of processes share."""

from __future__ import annotations

from infinite_memory.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage"]
