"""Scopes, read as a whole."""

from __future__ import annotations

from typing import Any

import bson
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.model.memory import GLOBAL
from infinite_memory.model.scope import Scope
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import decode_scope
from infinite_memory.storage.mongodb.schema import SCOPES

__all__ = ["ScopeReader"]


class ScopeReader:
    """Reads the scopes of one database; what is damaged is noted in `damage`."""

    def __init__(self, database: Database[dict[str, Any]], damage: DamageLog) -> None:
        self._database = database
        self._damage = damage
        self._known: tuple[bytes, dict[str, Scope]] = (b"", {GLOBAL: Scope(name=GLOBAL)})

    def read(self, session: ClientSession | None = None) -> dict[str, Scope]:
        """Return every scope by name; see `Storage.scopes`."""
        # Every search asks: what the server answers as before need not be decoded again.
        scopes_now: Any = self._database.get_collection(SCOPES).find_raw_batches(session=session)
        answer = b"".join(scopes_now)
        known, scopes = self._known
        if answer != known:
            scopes = self._decoded(answer)
            self._known = answer, scopes
        return dict(scopes)

    def _decoded(self, answer: bytes) -> dict[str, Scope]:
        found = {GLOBAL: Scope(name=GLOBAL)}
        for document in bson.decode_all(answer, self._database.codec_options):
            scope = decode_scope(document)
            if scope is None:
                self._damage.skip_record(f"scope {document['_id']}")
            else:
                found[scope.name] = scope
        return found
