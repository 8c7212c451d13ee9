"""The commits of a copy: a small commit for each record, in batches of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from infinite_memory.model.commit import Attach, Commit, Erase, Put
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Embedding

__all__ = ["MemoryCommit", "attach_embedding", "batch_commits", "erase_memory", "put_revision"]

_COMMIT_WRITES = 2048
_COMMIT_BYTES = 8 << 20


@frozen
class MemoryCommit:
    """A commit for a single memory, with its approximate size."""

    id: str
    commit: Commit
    size_bytes: int = 0


def erase_memory(memory: Memory) -> MemoryCommit:
    """Return the commit that erases a memory."""
    return MemoryCommit(memory.id, Commit(erases=(Erase(id=memory.id, expected=memory.revision),)))


def attach_embedding(memory: Memory, embedding: Embedding) -> MemoryCommit:
    """Return the commit that attaches an embedding to a memory."""
    attach = Attach(id=memory.id, revision=memory.revision, embedding=embedding)
    return MemoryCommit(memory.id, Commit(attaches=(attach,)), embedding.vectors.nbytes)


def put_revision(put: Put) -> MemoryCommit:
    """Return the commit that stores a revision of a memory."""
    memory = put.memory
    vectors = sum(embedding.vectors.nbytes for embedding in put.embeddings)
    size_bytes = 2 * len(memory.text) + len(str(memory.context)) + vectors
    return MemoryCommit(memory.id, Commit(puts=(put,)), size_bytes)


def batch_commits(commits: Iterator[MemoryCommit]) -> Iterator[list[MemoryCommit]]:
    """Yield the commits in order, in batches that fit in a commit of the target."""
    batch: list[MemoryCommit] = []
    size_bytes = 0
    for commit in commits:
        batch.append(commit)
        size_bytes += commit.size_bytes
        if len(batch) >= _COMMIT_WRITES or size_bytes >= _COMMIT_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch
