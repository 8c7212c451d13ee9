"""Candidates from PostgreSQL with the extension pgvector: one server, or a cluster of them.

A store and a model have two tables: `memories` with the columns and the terms of each memory, and
`passages` with the vectors. Neither holds a text. Few selected memories are compared one by one;
of many the HNSW index of the vectors finds the nearest. BM25 scores every memory with one of the
rarest words of the question.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageUnavailable, requiring
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.protocols.candidates import Counts, Selection, WordMatches
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.search.candidates.counts import round_criteria, weigh_terms
from infinite_memory.search.document import (
    KINDS,
    NEVER,
    STATUSES,
    TOPIC_SUMMARY,
    Document,
    hash_id,
    hash_tag,
)
from infinite_memory.search.segment import TELLING_DIMENSIONS, Segment, build

with requiring("postgres", "to search by PostgreSQL", "leave search.engine out"):
    import psycopg
    from pgvector.psycopg import register_vector

_log = logging.getLogger(__name__)
_SAMPLED = 2048
# A term of so many memories of the sample is counted there, any other in the table.
_COMMON = 64
# BM25 scores the memories with one of the rarest terms, until these are in so many memories.
_SCORED = 10_000
# So few selected memories are compared one by one, and the index is made for more.
_COMPARED = 20_000
_LOOKED_AT = 1000
_PART = 2000
_KEPT_SECONDS = 60.0
_AWAY_SECONDS, _CLOSING_SECONDS = 2.0, 5.0
_SIGN, _UNSIGNED = 1 << 63, (1 << 64) - 1

_COLUMNS = {
    "id": "text PRIMARY KEY",
    **dict.fromkeys(("scope", "speaker", "conversation"), "text NOT NULL"),
    **dict.fromkeys(("kind", "status", "is_question", "important"), "smallint NOT NULL"),
    **dict.fromkeys(("happened", "stored", "held_from", "held_to"), "bigint NOT NULL"),
    **dict.fromkeys(("canonical_hash", "hash", "length", "passages"), "bigint NOT NULL"),
    **dict.fromkeys(("terms", "counts", "labels"), "bigint[] NOT NULL"),
}
_PASSAGE = {"id": "text", "number": "int", "start": "int", "stop": "int", "alone": "bool"}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS infinite_memory (name text PRIMARY KEY, identity text, model text,
  position bigint NOT NULL, entry bigint NOT NULL, digest bytea NOT NULL);
CREATE TABLE IF NOT EXISTS memories_{n} ({columns});
CREATE TABLE IF NOT EXISTS passages_{n} ({passage}, vector vector({dimensions}) NOT NULL);
ALTER TABLE passages_{n} ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX IF NOT EXISTS terms_{n} ON memories_{n} USING gin (terms);
CREATE INDEX IF NOT EXISTS lots_{n} ON memories_{n} (hash);
CREATE INDEX IF NOT EXISTS scopes_{n} ON memories_{n} (scope);
CREATE INDEX IF NOT EXISTS turns_{n} ON memories_{n} (conversation, happened, stored, hash);
CREATE INDEX IF NOT EXISTS same_{n} ON memories_{n} (canonical_hash);
CREATE INDEX IF NOT EXISTS of_{n} ON passages_{n} (id);
INSERT INTO infinite_memory VALUES ('{n}', %s, %s, 0, 0, %s) ON CONFLICT DO NOTHING
"""
_BESIDE = """
(SELECT id FROM memories_{n} WHERE conversation = c.conversation AND important >= 0
 AND (happened, stored, hash) {sign} (c.happened, c.stored, c.hash) AND {where}
 ORDER BY happened {way}, stored {way}, hash {way} LIMIT 2)
"""


@frozen(kw_only=True, eq=False)
class _Population:
    """The counts of all memories that meet some criteria, and a sample of them."""

    at: float
    counts: Counts
    sample: Segment


class PostgresCandidates:
    """Candidates of one store and one model in a PostgreSQL database."""

    def __init__(self, url: str, identity: str, embedder: Embedder) -> None:
        """Use the database at `url`, without connecting yet, for the store with `identity`."""
        self._url = url
        self._owner = (identity, embedder.model)
        self._name = _digest(*self._owner)
        self._dimensions = embedder.dimensions
        self._second_length: float | None = getattr(embedder, "second_length", None)
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._away_until = 0.0
        self._is_prepared = self._is_away = False
        self._tending = threading.Lock()
        self._position = 0
        self._populations: dict[tuple[int, Selection], _Population] = {}

    def match_words(
        self, shares: Mapping[int, float], selection: Selection, *, limit: int
    ) -> WordMatches[Segment]:
        """Return the best `limit` memories by BM25, and the counts of the selected memories."""
        with self._connection() as connection:
            found = self._count(connection, selection)
            if not found.counts.memories:
                return WordMatches(ids=(), counts=found.counts, sample=found.sample)
            counts = evolve(
                found.counts, documents=self._count_terms(connection, shares, selection, found)
            )
            query = weigh_terms(shares, counts)
            ids: list[str] = []
            rare = sorted((counts.documents[term], term) for term in query.terms)
            scored, driving = 0, list[int]()
            for documents, term in rare:
                if documents and (not driving or scored + documents <= _SCORED):
                    scored, driving = scored + documents, [*driving, _signed(term)]
            if driving:
                where, values = _where(selection)
                misses = " + ".join(
                    ["%s / (coalesce(counts[array_position(terms, %s)], 0) + k)"] * len(query.terms)
                )
                pairs = zip(query.weights.tolist(), map(_signed, query.terms), strict=True)
                rows = connection.execute(
                    f"SELECT id FROM {self._memories}, LATERAL (SELECT 1.2::float8 * (0.25 + 0.75"
                    f" * least(length / %s::float8, 8)) AS k) s WHERE terms && %s AND {where}"
                    f" ORDER BY k * ({misses}), id LIMIT %s",
                    (query.mean_length, driving, *values, *_flat(pairs), limit),
                )
                ids = [row[0] for row in rows]
        return WordMatches(ids=tuple(ids), counts=counts, sample=found.sample)

    def nearest(
        self, vectors: NDArray[np.float32], selection: Selection, *, limit: int
    ) -> dict[str, float]:
        """Return the ids of the `limit` memories nearest to each vector, with their cosines."""
        nearest: dict[str, float] = {}
        with self._connection() as connection:
            few = self._count(connection, selection).counts.memories <= _COMPARED
            for vector in vectors:
                find = self._compare if few else self._look_up
                for memory_id, cosine in find(connection, vector, selection, limit):
                    nearest[memory_id] = max(cosine, nearest.get(memory_id, cosine))
        return nearest

    def columns(self, ids: Collection[str], selection: Selection) -> Segment:
        """Return the columns of the selected memories among `ids`, and of those beside them."""
        where, values = _where(selection)
        beside = " UNION ALL ".join(
            _BESIDE.format(n=self._name, sign=sign, way=way, where=where)
            for sign, way in (("<", "DESC"), (">", "ASC"))
        )
        asked = (
            f"WITH c AS MATERIALIZED (SELECT * FROM {self._memories} WHERE id = ANY(%s)"
            f" AND {where}) SELECT id FROM c UNION SELECT b.id FROM c, LATERAL ({beside}) b"
            f" WHERE c.conversation <> '' AND c.important >= 0 UNION SELECT m.id FROM c JOIN"
            f" (SELECT id, canonical_hash FROM {self._memories} WHERE {where}) m"
            " USING (canonical_hash)"
        )
        with self._connection() as connection:
            rows = connection.execute(asked, (list(ids), *values * 4))
            return self._load(connection, [row[0] for row in rows])

    def position(self) -> int:
        """Return the cursor of the feed up to which it has taken in every change, 0 at first."""
        with self._connection() as connection:
            asked = "SELECT position FROM infinite_memory WHERE name = %s"
            row = connection.execute(asked, (self._name,)).fetchone()
            self._position = 0 if row is None else int(row[0])
            return self._position

    def end(self) -> JournalEnd:
        """Return the `end` of the last `take_in`, that of an empty journal at first."""
        with self._connection() as connection:
            asked = "SELECT entry, digest FROM infinite_memory WHERE name = %s"
            row = connection.execute(asked, (self._name,)).fetchone()
            return JournalEnd() if row is None else JournalEnd(number=row[0], digest=bytes(row[1]))

    def take_in(
        self,
        entries: Sequence[Document],
        gone: Collection[str],
        *,
        after: int,
        position: int,
        end: JournalEnd = JournalEnd(),  # noqa: B008 - a frozen value
    ) -> bool:
        """Replace `entries`, remove the ids in `gone` and move to `position`, all or nothing."""
        ids = [*gone, *(entry.id for entry in entries)]
        with self._connection() as connection, connection.transaction():
            moved = connection.execute(
                "UPDATE infinite_memory SET position = %s, entry = %s, digest = %s"
                " WHERE name = %s AND position = %s",
                (position, end.number, end.digest, self._name, after),
            )
            if not moved.rowcount:
                return False
            for table in (self._memories, self._passages):
                connection.execute(f"DELETE FROM {table} WHERE id = ANY(%s)", (ids,))
            types = ["text"] * 4 + ["int2"] * 4 + ["int8"] * 8 + ["int8[]"] * 3
            _copy(connection, self._memories, _COLUMNS, types, map(_row_of, entries))
            types = ["text", "int4", "int4", "int4", "bool", "vector"]
            passages = (row for entry in entries for row in _passage_rows(entry))
            _copy(connection, self._passages, (*_PASSAGE, "vector"), types, passages)
        self._position = position
        # While a whole store is taken in, the index of the vectors would slow each of its parts.
        if len(entries) < _PART and self._tending.acquire(blocking=False):
            threading.Thread(target=self._tend, name="infinite-memory-tend", daemon=True).start()
        return True

    def clear(self) -> None:
        """Remove everything, so that it is at the cursor 0."""
        self._drop([self._name])

    def clear_others(self) -> None:
        """Remove what it has of this store by other models."""
        with self._connection() as connection:
            asked = "SELECT name FROM infinite_memory WHERE identity = %s AND name <> %s"
            rows = connection.execute(asked, (self._owner[0], self._name)).fetchall()
        self._drop([row[0] for row in rows])

    def scrub(self) -> None:
        """Let the server give back the space of what is gone."""
        with self._connection() as connection:
            connection.execute(f"VACUUM {self._memories}, {self._passages}")

    def close(self) -> None:
        """Close the connections; a later call opens one again."""
        if self._tending.acquire(timeout=_CLOSING_SECONDS):
            self._tending.release()
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @property
    def _memories(self) -> str:
        return f"memories_{self._name}"

    @property
    def _passages(self) -> str:
        return f"passages_{self._name}"

    def _drop(self, names: Sequence[str]) -> None:
        with self._connection() as connection, connection.transaction():
            for name in names:
                connection.execute(f"DROP TABLE IF EXISTS memories_{name}, passages_{name}")
                connection.execute("DELETE FROM infinite_memory WHERE name = %s", (name,))
        self._is_prepared, self._populations = False, {}

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection, and raise `StorageUnavailable` for what the server fails to do."""
        try:
            connection = self._connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._idle.append(connection)
            self._is_away = False
        except psycopg.Error as error:
            self._is_prepared = False
            if isinstance(error, psycopg.OperationalError):
                self._close_idle()
            reason = str(error).strip().split("\n")[0]
            failure = f"the search engine {masked(self._url)} does not answer ({reason})"
            _log.log(logging.DEBUG if self._is_away else logging.WARNING, "%s", failure)
            self._is_away = True
            raise StorageUnavailable(failure) from error

    def _connect(self) -> psycopg.Connection[Any]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None and self._is_prepared:
            return connection
        if connection is None:
            if time.monotonic() < self._away_until:
                raise psycopg.OperationalError("it did not a moment ago")
            try:
                connection = psycopg.connect(self._url, autocommit=True, connect_timeout=3)
            except psycopg.OperationalError:
                self._away_until = time.monotonic() + _AWAY_SECONDS
                raise
        try:
            self._prepare(connection)
            register_vector(connection)
            connection.execute(f"SET hnsw.ef_search = {_LOOKED_AT}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Make the tables where there are none."""
        if self._is_prepared:
            return
        passage = ", ".join(f"{name} {kind} NOT NULL" for name, kind in _PASSAGE.items())
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        schema = _SCHEMA.format(
            n=self._name, columns=columns, passage=passage, dimensions=self._dimensions
        )
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(7303014)")
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            *statements, insert = schema.split(";")
            for statement in statements:
                connection.execute(statement)
            connection.execute(insert, (*self._owner, JournalEnd().digest))
        self._is_prepared = True

    def _count(self, connection: psycopg.Connection[Any], selection: Selection) -> _Population:
        """Return the counts of the selected memories, of a minute ago at most.

        What the caller has itself is counted anew each time, and taken away.
        """
        kept = Selection(criteria=round_criteria(selection.criteria), within=selection.within)
        now, found = time.monotonic(), self._populations.get((self._position, kept))
        if found is None or now - found.at > _KEPT_SECONDS:
            everything = evolve(selection, without=frozenset())
            where, values = _where(everything)
            drawn = connection.execute(
                f"SELECT id FROM {self._memories} WHERE {where} ORDER BY hash LIMIT {_SAMPLED}",
                values,
            ).fetchall()
            found = _Population(
                at=now,
                counts=self._sum(connection, where, values),
                sample=self._load(connection, [row[0] for row in drawn]),
            )
            if len(self._populations) > 32:
                self._populations = {}
            self._populations[self._position, kept] = found
        if not selection.without:
            return found
        where, values = _where(evolve(selection, without=frozenset()))
        hidden = self._sum(
            connection, f"id = ANY(%s) AND {where}", (list(selection.without), *values)
        )
        counts = Counts(
            memories=found.counts.memories - hidden.memories,
            pending=found.counts.pending - hidden.pending,
            length=found.counts.length - hidden.length,
        )
        if hidden.memories and len(found.sample) >= found.counts.memories:
            # Of few memories the sample has all, and is told exactly.
            ids = map(found.sample.id_of, range(len(found.sample)))
            sample = self._load(connection, [i for i in ids if i not in selection.without])
            return _Population(at=now, counts=counts, sample=sample)
        return evolve(found, counts=counts)

    def _sum(
        self, connection: psycopg.Connection[Any], where: str, values: Sequence[object]
    ) -> Counts:
        memories, pending, length = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE passages = 0),"
            f" coalesce(sum(length), 0)::bigint FROM {self._memories} WHERE {where}",
            values,
        ).fetchone() or (0, 0, 0)
        return Counts(memories=memories, pending=pending, length=length)

    def _count_terms(
        self,
        connection: psycopg.Connection[Any],
        terms: Collection[int],
        selection: Selection,
        found: _Population,
    ) -> dict[int, int]:
        """Return in how many selected memories each term is: of common ones by the sample."""
        drawn = {term: len(found.sample.postings(term)[0]) for term in terms}
        whole = len(found.sample) >= found.counts.memories
        share = found.counts.memories / max(len(found.sample), 1)
        counts = {
            term: number if whole else round(number * share)
            for term, number in drawn.items()
            if whole or number >= _COMMON
        }
        rare = [term for term in terms if term not in counts]
        if rare:
            where, values = _where(selection)
            each = f"(SELECT count(*) FROM {self._memories} WHERE terms @> %s AND {where})"
            asked = [value for term in rare for value in ([_signed(term)], *values)]
            row = connection.execute(f"SELECT {', '.join([each] * len(rare))}", asked).fetchone()
            counts.update(zip(rare, row or (), strict=True))
        return counts

    def _compare(
        self,
        connection: psycopg.Connection[Any],
        vector: NDArray[np.float32],
        selection: Selection,
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return the nearest of all selected memories."""
        where, values = _where(selection)
        alone, length = _is_alone(vector), self._second_length or 1.0
        return connection.execute(
            f"WITH s AS MATERIALIZED (SELECT id FROM {self._memories} WHERE {where}) SELECT id,"
            " max(-(vector <#> %s) / CASE WHEN alone = %s THEN 1 ELSE %s END) AS cosine"
            f" FROM s JOIN {self._passages} USING (id) GROUP BY id"
            " ORDER BY cosine DESC, id LIMIT %s",
            (*values, vector, alone, length, limit),
        ).fetchall()

    def _look_up(
        self,
        connection: psycopg.Connection[Any],
        vector: NDArray[np.float32],
        selection: Selection,
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return the nearest memories that the index of the vectors finds."""
        where, values = _where(selection)
        found: list[tuple[str, float]] = []
        for alone in (False, True) if self._second_length else (False,):
            length = self._second_length if alone != _is_alone(vector) else None
            rows = connection.execute(
                f"SELECT id, -(vector <#> %s) FROM {self._passages} JOIN {self._memories}"
                f" USING (id) WHERE alone = {alone} AND {where} ORDER BY vector <#> %s LIMIT %s",
                (vector, *values, vector, 2 * limit),
            ).fetchall()
            found += [(memory_id, cosine / (length or 1)) for memory_id, cosine in rows]
        if len(found) < limit:
            # The index looks at the nearest of all, of which the selection may have left few.
            return self._compare(connection, vector, selection, limit)
        return sorted(found, key=lambda pair: -pair[1])[:limit]

    def _load(self, connection: psycopg.Connection[Any], ids: Sequence[str]) -> Segment:
        """Return the segment of the memories `ids`."""
        names = [name for name in _COLUMNS if name not in ("hash", "passages")]
        rows = connection.execute(
            f"SELECT {', '.join(names)} FROM {self._memories} WHERE id = ANY(%s) ORDER BY id",
            (list(ids),),
            binary=True,
        ).fetchall()
        passages: dict[str, list[tuple[int, int, bytes]]] = {}
        for memory_id, *passage in connection.execute(
            f"SELECT id, start, stop, vector_send(vector) FROM {self._passages}"
            " WHERE id = ANY(%s) ORDER BY id, number",
            (list(ids),),
            binary=True,
        ):
            passages.setdefault(memory_id, []).append(tuple(passage))
        documents = [
            self._describe(dict(zip(names, row, strict=True)), passages.get(row[0], []))
            for row in rows
        ]
        return build(documents, dimensions=self._dimensions)

    def _describe(
        self, row: dict[str, Any], passages: Sequence[tuple[int, int, bytes]]
    ) -> Document:
        sent = b"".join(vector[4:] for _, _, vector in passages)
        del row["length"]
        return Document(
            terms={
                term & _UNSIGNED: count
                for term, count in zip(row.pop("terms"), row.pop("counts"), strict=True)
            },
            labels=frozenset(label & _UNSIGNED for label in row.pop("labels")),
            is_question=bool(row.pop("is_question")),
            canonical_hash=row.pop("canonical_hash") & _UNSIGNED,
            spans=np.array([p[:2] for p in passages], np.int32).reshape(-1, 2),
            vectors=np.frombuffer(sent, ">f4").astype(np.float32).reshape(-1, self._dimensions),
            **row,
        )

    def _tend(self) -> None:
        """Make the index of the vectors once there are many, and let the server learn the rest."""
        try:
            with self._connection() as connection:
                connection.execute(f"ANALYZE {self._memories}, {self._passages}")
                for alone in (False, True):
                    (number,) = connection.execute(
                        f"SELECT count(*) FROM {self._passages} WHERE alone = {alone}"
                    ).fetchone() or (0,)
                    if number > _COMPARED:
                        connection.execute("SET maintenance_work_mem = '512MB'")
                        connection.execute(
                            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS vectors_{self._name}_{alone}"
                            f" ON {self._passages} USING hnsw (vector vector_ip_ops)"
                            f" WHERE alone = {alone}"
                        )
        except StorageUnavailable:
            pass  # The next change tries again.
        finally:
            self._tending.release()


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= _SIGN else value


def _is_alone(vector: NDArray[np.float32]) -> bool:
    return not vector[:TELLING_DIMENSIONS].any()


def _flat(pairs: Any) -> list[object]:
    return [value for pair in pairs for value in pair]


def _copy(
    connection: psycopg.Connection[Any],
    table: str,
    columns: Collection[str],
    types: Sequence[str],
    rows: Iterator[tuple[object, ...]],
) -> None:
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(sql) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _row_of(document: Document) -> tuple[object, ...]:
    values = {
        # Ascending as the unsigned hashes are.
        "hash": hash_id(document.id) - _SIGN,
        "length": sum(document.terms.values()),
        "passages": len(document.vectors),
        "is_question": int(document.is_question),
        "canonical_hash": _signed(document.canonical_hash),
        "terms": [_signed(term) for term in document.terms],
        "counts": list(document.terms.values()),
        "labels": [_signed(label) for label in document.labels],
    }
    return tuple(values[n] if n in values else getattr(document, n) for n in _COLUMNS)


def _passage_rows(document: Document) -> Iterator[tuple[object, ...]]:
    for number, (span, vector) in enumerate(zip(document.spans, document.vectors, strict=True)):
        start, stop = span.tolist()
        yield document.id, number, start, stop, _is_alone(vector), vector


def _where(selection: Selection) -> tuple[str, tuple[object, ...]]:
    conditions = list(_conditions(selection))
    clause = " AND ".join(condition for condition, _ in conditions) or "true"
    return clause, tuple(value for _, values in conditions for value in values)


def _conditions(selection: Selection) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield the conditions of a selection, with their values."""
    criteria, within = selection.criteria, selection.within
    kinds, statuses, tags = criteria.kinds or (), criteria.statuses or (), criteria.tags
    table: dict[str, tuple[object, Sequence[object]]] = {
        "NOT id = ANY(%s)": (selection.without or None, [list(selection.without)]),
        "scope = ANY(%s)": (criteria.scopes, [list(criteria.scopes or ())]),
        "kind = ANY(%s)": (criteria.kinds, [[n for n, k in enumerate(KINDS) if k in kinds]]),
        "kind <> %s": (None if criteria.topic_summaries else True, [TOPIC_SUMMARY]),
        "status = ANY(%s)": (criteria.statuses, [[STATUSES.index(s) for s in statuses]]),
        "conversation = %s": (criteria.conversation_id, [criteria.conversation_id]),
        "labels @> %s::bigint[]": (tags or None, [[_signed(hash_tag(tag)) for tag in tags]]),
        "happened >= %s": (criteria.since, [_micros(criteria.since, -NEVER)]),
        "happened < %s": (criteria.until, [_micros(criteria.until, NEVER)]),
        "held_from <= %s AND held_to > %s": (criteria.as_of, [_micros(criteria.as_of, 0)] * 2),
        "(held_from <= %s OR held_from <= stored)": (
            criteria.begun_at,
            [_micros(criteria.begun_at, 0)],
        ),
        "held_to > %s": (criteria.unended_at, [_micros(criteria.unended_at, 0)]),
        "(happened >= %s AND happened < %s OR held_from >= %s AND held_from < %s)": (
            within,
            [_micros(within.start, -NEVER), _micros(within.end, NEVER)] * 2 if within else [],
        ),
    }
    for condition, (given, values) in table.items():
        if given is not None:
            yield condition, tuple(values)


def _micros(moment: datetime | None, default: int) -> int:
    return default if moment is None else to_micros(moment)
