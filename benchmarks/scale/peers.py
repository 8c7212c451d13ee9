"""Other stores with the same memories, vectors and questions; each needs a package of its own.

None of them is a dependency of this project: `pip install faiss-cpu chromadb lancedb sqlite-vec`
into an environment of its own. One that is not installed is left out, and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.corpus import DIMENSIONS, RARE, Batch

Vector = NDArray[np.float32]
Search = Callable[[Vector, bool], list[str]]
"""Returns the texts of the ten nearest memories, in the scope of one percent alone if asked."""

_TEN = 10


def faiss_flat(_folder: Path, batches: Iterable[Batch]) -> Search:
    """Exact, in memory alone; the texts come from a list of Python's."""
    import faiss

    index = faiss.IndexFlatIP(DIMENSIONS)
    texts: list[str] = []
    rare: list[int] = []
    for batch in batches:
        index.add(batch.vectors)
        rare += [len(texts) + i for i, m in enumerate(batch.memories) if m.scope == RARE]
        texts += [memory.text for memory in batch.memories]
    selector = faiss.IDSelectorBatch(rare)
    only_rare = faiss.SearchParameters(sel=selector)

    def search(vector: Vector, filtered: bool) -> list[str]:
        _, found = index.search(vector[None], _TEN, params=only_rare if filtered else None)
        return [texts[number] for number in found[0]]

    return search


def chromadb_hnsw(folder: Path, batches: Iterable[Batch]) -> Search:
    """Approximate: its default index."""
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    collection = client.create_collection("memories", metadata={"hnsw:space": "cosine"})
    for batch in batches:
        collection.add(
            ids=[memory.id for memory in batch.memories],
            documents=[memory.text for memory in batch.memories],
            metadatas=[{"scope": memory.scope} for memory in batch.memories],
            embeddings=batch.vectors,
        )

    def search(vector: Vector, filtered: bool) -> list[str]:
        where: Any = {"scope": RARE} if filtered else None
        found = collection.query(
            query_embeddings=vector[None], n_results=_TEN, where=where, include=["documents"]
        )
        return list(found["documents"][0])

    return search


def lancedb_exact(folder: Path, batches: Iterable[Batch]) -> Search:
    """Exact: what it does as long as no index was asked for."""
    import lancedb
    import pyarrow

    database = lancedb.connect(str(folder))
    table: Any = None
    for batch in batches:
        vectors = pyarrow.FixedSizeListArray.from_arrays(
            pyarrow.array(batch.vectors.ravel()), DIMENSIONS
        )
        rows = pyarrow.table(
            {
                "id": [memory.id for memory in batch.memories],
                "text": [memory.text for memory in batch.memories],
                "scope": [memory.scope for memory in batch.memories],
                "vector": vectors,
            }
        )
        if table is None:
            table = database.create_table("memories", rows)
        else:
            table.add(rows)
    table.optimize()

    def search(vector: Vector, filtered: bool) -> list[str]:
        query = (
            table.search(vector)
            .distance_type("dot")
            .limit(_TEN)
            .select(["id", "text", "_distance"])
        )
        if filtered:
            query = query.where(f"scope = '{RARE}'", prefilter=True)
        return [row["text"] for row in query.to_list()]

    return search


def sqlite_vec_exact(folder: Path, batches: Iterable[Batch]) -> Search:
    """Exact: the extension that several memory servers keep their vectors in."""
    import apsw
    import sqlite_vec

    folder.mkdir(parents=True)
    connection = apsw.Connection(str(folder / "peer.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.pragma("journal_mode", "wal")
    connection.execute(
        "CREATE TABLE memories (number INTEGER PRIMARY KEY, id TEXT, text TEXT);"
        f"CREATE VIRTUAL TABLE vectors USING vec0(number INTEGER PRIMARY KEY, scope TEXT,"
        f" embedding float[{DIMENSIONS}] distance_metric=cosine)"
    )
    number = 0
    for batch in batches:
        with connection:
            for memory, vector in zip(batch.memories, batch.vectors, strict=True):
                number += 1
                connection.execute(
                    "INSERT INTO memories VALUES (?, ?, ?)", (number, memory.id, memory.text)
                )
                connection.execute(
                    "INSERT INTO vectors (number, scope, embedding) VALUES (?, ?, ?)",
                    (number, memory.scope, vector.tobytes()),
                )

    def search(vector: Vector, filtered: bool) -> list[str]:
        condition = f" AND scope = '{RARE}'" if filtered else ""
        rows = connection.execute(
            "SELECT m.text FROM vectors v JOIN memories m ON m.number = v.number"
            f" WHERE v.embedding MATCH ? AND k = {_TEN}{condition}",
            (vector.tobytes(),),
        )
        return [text for (text,) in rows]

    return search


PEERS: dict[str, Callable[[Path, Iterable[Batch]], Search]] = {
    "FAISS flat, exact": faiss_flat,
    "chromadb, HNSW": chromadb_hnsw,
    "lancedb, exact": lancedb_exact,
    "sqlite-vec, exact": sqlite_vec_exact,
}
