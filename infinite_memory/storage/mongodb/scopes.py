"""The scopes of a store, read in a single query."""

from __future__ import annotations

from typing import Any

import bson
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope, ScopeTable
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import decode_scope
from infinite_memory.storage.mongodb.schema import SCOPES


class ScopeReader:
    """Reads the scopes of a database; damaged scopes are noted in `damage`."""

    def __init__(self, database: Database[dict[str, Any]], damage: DamageLog) -> None:
        self._database = database
        self._damage = damage
        self._known = b"", ScopeTable({GLOBAL: Scope(name=GLOBAL)})

    def read(self, session: ClientSession | None = None) -> ScopeTable:
        """Return every scope by name; see `Storage.scopes`."""
        # Every search reads the scopes, so an unchanged answer is not decoded a second time.
        raw_batches: Any = self._database.get_collection(SCOPES).find_raw_batches(session=session)
        answer = b"".join(raw_batches)
        known, scopes = self._known
        if answer != known:
            scopes = ScopeTable(self._decode_scopes(answer))
            self._known = answer, scopes
        return scopes

    def _decode_scopes(self, answer: bytes) -> dict[str, Scope]:
        scopes = {GLOBAL: Scope(name=GLOBAL)}
        for document in bson.decode_all(answer, self._database.codec_options):
            scope = decode_scope(document)
            if scope is None:
                self._damage.skip_record(f"scope {document['_id']}")
            else:
                scopes[scope.name] = scope
        return scopes
