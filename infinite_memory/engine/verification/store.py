"""Verify every stored record, the journal and the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from attrs import evolve

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import (
    Storage,
    SupportsDamage,
    SupportsIndex,
    SupportsKeptCounts,
    SupportsVerify,
)
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.verification import Finding, RecordKind, Verification, Walked
from infinite_memory.engine.change_feed import every_change
from infinite_memory.engine.embed import embed_again
from infinite_memory.engine.services import Services
from infinite_memory.engine.verification.journal import check_journal
from infinite_memory.search.document import KINDS, STATUSES
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.quantization import quantize
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment
from infinite_memory.storage.integrity import check_record

_BATCH = 1000
_REBUILD = "nothing is lost: delete the folder of the index, and it is built again from the store"
_RESTORE = "restore it from a backup"
_OLDER = (
    "if you put an older copy of the database in place, delete the folder of the index; if not, "
    "the newest memories are missing: look for memory.db-wal, or restore a backup"
)


def verify(services: Services, *, mend: bool, progress: Walked | None) -> Verification:
    """Verify the store; with `mend`, rebuild damaged vectors and the index from sound records.

    Raises:
        StorageUnavailable: the store cannot be read at the moment.
    """
    storage = services.storage
    stored = (
        storage.verify(progress)
        if isinstance(storage, SupportsVerify)
        else _read_through(storage, progress)
    )
    findings = list(stored.findings)
    counts = {**stored.counts}
    if services.confinement is not None:
        # The chain of digests includes entries that a confined store does not show.
        counts["entries"] = storage.measure().entries
    elif not any(finding.part is RecordKind.DATABASE for finding in findings):
        counts["entries"], journal_findings = _look_twice(lambda: check_journal(storage))
        findings += journal_findings
    # The index belongs to the whole store.
    if services.confinement is None and not _is_unreadable(findings):
        damaged = frozenset(
            finding.id
            for finding in findings
            if finding.id is not None and finding.part is not RecordKind.JOURNAL
        )
        counts["indexed"], index_findings = _look_twice(lambda: _verify_index(services, damaged))
        findings += index_findings
    verification = Verification(counts=counts, findings=tuple(findings))
    return _mend_findings(services, verification) if mend else verification


def _look_twice(look: Callable[[], tuple[int, list[Finding]]]) -> tuple[int, list[Finding]]:
    """Return what `look` counts and finds; a finding must be there at a second look too.

    Another process may have restored the store in the middle of the first one.
    """
    counted, findings = look()
    return look() if findings else (counted, findings)


def _is_unreadable(findings: Iterable[Finding]) -> bool:
    return any(finding.part in (RecordKind.DATABASE, RecordKind.FEED) for finding in findings)


def _read_through(storage: Storage, progress: Walked | None) -> Verification:
    """Read every record through the storage protocol, and verify it.

    A storage omits damaged records; afterwards its `damage` may name them.
    """
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    total = sum(storage.measure().memories.values())
    counts["scopes"] = len(storage.scopes())
    keys = len(storage.access_keys())
    if keys:
        counts["access_keys"] = keys
    for change in every_change(storage, 0, None):
        if change.record is None:
            # A confined storage reports a memory as gone if it was moved to a hidden scope, and
            # says of none that it was erased: then no number appears, and none of 0 goes.
            counts.update(("erased",) * len(storage.erased([change.id])))
        else:
            counts["memories"] += 1
            findings += check_record(change.record)
            if change.record.memory.revision > 1:
                try:
                    counts["revisions"] += len(storage.history(change.id)) - 1
                except StoreDamaged as error:
                    findings.append(
                        Finding(
                            part=RecordKind.REVISION,
                            id=change.id,
                            what=str(error),
                            way_out=_RESTORE,
                        )
                    )
        if progress is not None and not counts["memories"] % _BATCH:
            progress(min(counts["memories"], total), total)
    # A record that has lost its position is not in the feed, but `find` lists it.
    after: str | None = None
    more = True
    while more:
        page = storage.find(Criteria(), limit=_BATCH, after=after)
        after, more = page.next, page.next is not None
        ids = {memory.id for memory in page.memories}
        # `links` returns a link for both of its ends; it counts at its source.
        counts["links"] += sum(link.source in ids for link in storage.links(ids))
        counts["usage"] += len(storage.usage(ids))
    if isinstance(storage, SupportsDamage):
        findings += storage.damage()
    if progress is not None:
        progress(total, total)
    # The names are sorted, so that the order does not depend on the records.
    return Verification(counts=dict(sorted(counts.items())), findings=tuple(findings))


def _verify_index(services: Services, damaged: frozenset[str]) -> tuple[int, list[Finding]]:
    """Compare the snapshot of the index with the store; return its size and the findings."""
    try:
        model = services.models.answering()
        reader = model.index.load_snapshot() if isinstance(model.index, SearchIndex) else None
    except ValueError as error:
        return 0, [_make_finding(f"the snapshot of the index is damaged: {error}")]
    if reader is None or not reader.segment_readers:
        return 0, []
    position = services.storage.position()
    if reader.cursor > position:
        what = f"the index has seen {reader.cursor} changes, the store has only {position}"
        return len(reader), [Finding(part=RecordKind.INDEX, what=what, way_out=_OLDER)]
    return len(reader), list(_find_disagreements(services, reader, model.name, damaged))


def _find_disagreements(
    services: Services, reader: Reader, model: str, damaged: frozenset[str]
) -> Iterator[Finding]:
    """Yield a finding for every memory that differs in the snapshot, unless it changed later."""
    segment = reader.segment_readers[0].segment
    differing, matched = list[str](), set[int]()
    for change in every_change(services.storage, 0, (model,)):
        doc = segment.find(change.id)
        if doc is not None:
            matched.add(doc)
        if change.record is None or not change.record.memory.is_indexed:
            agrees = doc is None
        else:
            agrees = doc is not None and _agrees_with_record(segment, doc, change.record, model)
        if not agrees and change.id not in damaged:
            differing.append(change.id)
    # Read last: another process may have changed a memory after the walk began.
    later = {change.id for change in every_change(services.storage, reader.cursor, ())}
    for memory_id in differing:
        if memory_id not in later:
            yield _make_finding(f"the index does not agree with memory {memory_id!r}", memory_id)
    matched |= {doc for memory_id in damaged if (doc := segment.find(memory_id)) is not None}
    if len(segment) > len(matched):
        what = f"the index has {len(segment) - len(matched)} documents of memories that are not"
        yield _make_finding(f"{what} stored")


def _agrees_with_record(segment: Segment, doc: int, record: Record, model: str) -> bool:
    memory, embedding = record.memory, record.embedding_by(model)
    cut = slice(int(segment.passage_start[doc]), int(segment.passage_start[doc + 1]))
    if embedding is None:
        vectors_agree = cut.start == cut.stop
    else:
        high, low, scale = quantize(embedding.vectors)
        vectors_agree = (
            np.array_equal(segment.high[cut], high)
            and np.array_equal(segment.low[cut], low)
            and np.array_equal(segment.scale[cut], scale)
            and np.array_equal(segment.spans[cut], embedding.spans)
        )
    return vectors_agree and (
        segment.names[segment.scope[doc]],
        KINDS[segment.kind[doc]],
        STATUSES[segment.status[doc]],
        int(segment.happened[doc]),
        int(segment.stored[doc]),
    ) == (
        memory.scope,
        memory.kind,
        memory.status,
        to_micros(memory.happened_at),
        to_micros(memory.stored_at),
    )


def _make_finding(what: str, memory_id: str | None = None) -> Finding:
    return Finding(part=RecordKind.INDEX, id=memory_id, what=what, way_out=_REBUILD)


def _mend_findings(services: Services, verification: Verification) -> Verification:
    """Rebuild damaged vectors and the index; write nothing if the database itself is suspect.

    Memories that cannot be embedded at the moment wait for `catch_up`.
    """
    findings = verification.findings
    if _is_unreadable(findings):
        return verification
    unsound = {finding.id for finding in findings if finding.part is RecordKind.MEMORY}
    ids = sorted(
        {
            finding.id
            for finding in findings
            if finding.part is RecordKind.EMBEDDING and finding.id is not None
        }
        - unsound
    )
    mended = embed_again(services, ids) if ids else 0
    if any(finding.part is RecordKind.INDEX for finding in findings):
        if isinstance(services.index, SupportsIndex):
            services.index.rebuild()
        if isinstance(services.storage, SupportsKeptCounts):
            services.storage.rebuild_counts()
        mended += 1
    return evolve(verification, mended=mended)
