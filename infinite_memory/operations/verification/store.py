"""Verify: look at everything that is stored, and at the index, and say what is not as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from attrs import evolve

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.findings import Finding, RecordKind, Verification, Walked
from infinite_memory.model.record import Record
from infinite_memory.operations.change_feed import every_change
from infinite_memory.operations.embed import embed_again
from infinite_memory.operations.services import Services
from infinite_memory.operations.verification.journal import check_journal
from infinite_memory.protocols import Storage, SupportsDamage, SupportsIndex, SupportsVerify
from infinite_memory.search.document import KINDS, STATUSES
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.quantization import quantize
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment
from infinite_memory.storage.integrity import check_record

__all__ = ["verify"]

_BATCH = 1000
_REBUILD = "nothing is lost: the index is made anew from the store once its folder is deleted"
_RESTORE = "restore it from a backup"
_OLDER = (
    "if you put an older copy of the database in place, delete the folder of the index; if not, "
    "the newest memories are missing: look for memory.db-wal, or restore a backup"
)


def verify(services: Services, *, mend: bool, progress: Walked | None) -> Verification:
    """Look at everything; with `mend`, then make anew what was derived from sound records.

    Raises:
        StorageUnavailable: the store cannot be read at the moment.
    """
    storage = services.storage
    stored = (
        storage.verify(progress)
        if isinstance(storage, SupportsVerify)
        else _read_through(storage, progress)
    )
    found = list(stored.findings)
    counts = {**stored.counts}
    if services.confinement is not None:
        # The chain goes through entries that do not exist here.
        counts["entries"] = storage.measure().entries
    elif not any(finding.part is RecordKind.DATABASE for finding in found):
        counts["entries"], wrong = check_journal(storage)
        found += wrong
    if not _unreadable(found):
        damaged = frozenset(
            finding.id
            for finding in found
            if finding.id is not None and finding.part is not RecordKind.JOURNAL
        )
        indexed, wrong = _verify_index(services, damaged)
        counts["indexed"] = indexed
        found += wrong
    verified = Verification(counts=counts, findings=tuple(found))
    return _mended(services, verified) if mend else verified


def _unreadable(findings: list[Finding]) -> bool:
    return any(finding.part in (RecordKind.DATABASE, RecordKind.FEED) for finding in findings)


def _read_through(storage: Storage, progress: Walked | None) -> Verification:
    """Read what every storage can give: each record, which it verifies by itself.

    What it leaves out on the way because it is damaged, it may be able to say afterwards.
    """
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    total = sum(storage.measure().memories.values())
    counts["scopes"] = len(storage.scopes())
    for change in every_change(storage, 0, None):
        if change.record is None:
            # What comes as gone may have been moved to where this storage does not look.
            counts += Counter(erased=len(storage.erased([change.id])))
        else:
            counts["memories"] += 1
            findings += check_record(change.record)
            # The first revision has none before it.
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
    # One that has lost its number is in no feed, but in the lists.
    after: str | None = None
    more = True
    while more:
        page = storage.find(Criteria(), limit=_BATCH, after=after)
        after, more = page.next, page.next is not None
        ids = {memory.id for memory in page.memories}
        # Each link is met from both ends, and counted from where it begins.
        counts["links"] += sum(link.source in ids for link in storage.links(ids))
        counts["usage"] += len(storage.usage(ids))
    if isinstance(storage, SupportsDamage):
        findings += storage.damage()
    if progress is not None:
        progress(total, total)
    # In an order that says nothing of what came first.
    return Verification(counts=dict(sorted(counts.items())), findings=tuple(findings))


def _verify_index(services: Services, damaged: frozenset[str]) -> tuple[int, list[Finding]]:
    """Compare the snapshot of the index with the store; return its documents and what is wrong."""
    try:
        model = services.models.answering()
        view = model.index.load_snapshot() if isinstance(model.index, SearchIndex) else None
    except ValueError as error:
        return 0, [_index_finding(f"the snapshot of the index is damaged: {error}")]
    if view is None or not view.segment_readers:
        return 0, []
    position = services.storage.position()
    if view.cursor > position:
        what = f"the index has seen {view.cursor} changes, the store has only {position}"
        return len(view), [Finding(part=RecordKind.INDEX, what=what, way_out=_OLDER)]
    return len(view), list(_compared(services, view, model.name, damaged))


def _compared(
    services: Services, view: Reader, model: str, damaged: frozenset[str]
) -> Iterator[Finding]:
    """Yield a finding for each memory unchanged since the snapshot that is not in it as it is."""
    segment = view.segment_readers[0].segment
    later = {change.id for change in every_change(services.storage, view.cursor, ())}
    matched = 0
    for change in every_change(services.storage, 0, (model,)):
        doc = segment.find(change.id)
        matched += doc is not None
        if change.id in later or change.id in damaged:
            continue
        if change.record is None:
            agrees = doc is None
        else:
            agrees = doc is not None and _agrees(segment, doc, change.record, model)
        if not agrees:
            yield _index_finding(f"the index does not agree with memory {change.id!r}", change.id)
    unknown = len(segment) - matched - sum(segment.find(each) is not None for each in damaged)
    if unknown > 0:
        yield _index_finding(f"the index has {unknown} documents of memories that are not stored")


def _agrees(segment: Segment, doc: int, record: Record, model: str) -> bool:
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


def _index_finding(what: str, memory_id: str | None = None) -> Finding:
    return Finding(part=RecordKind.INDEX, id=memory_id, what=what, way_out=_REBUILD)


def _mended(services: Services, verified: Verification) -> Verification:
    """Make anew vectors and index, unless the database itself is suspect: then nothing is written.

    What cannot be embedded at the moment waits for `catch_up`.
    """
    found = verified.findings
    if _unreadable(list(found)):
        return verified
    unsound = {finding.id for finding in found if finding.part is RecordKind.MEMORY}
    ids = sorted(
        {f.id for f in found if f.part is RecordKind.EMBEDDING and f.id is not None} - unsound
    )
    mended = embed_again(services, ids) if ids else 0
    if any(finding.part is RecordKind.INDEX for finding in found):
        if isinstance(services.index, SupportsIndex):
            services.index.rebuild()
        mended += 1
    return evolve(verified, mended=mended)
