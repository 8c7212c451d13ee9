"""Compares what a storage holds with what was imported into it, by the digests of the parts."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.features.archive.container.layout import Part
from infinite_memory.features.archive.container.totals import PartTotal, Totals
from infinite_memory.features.archive.transfer.export import Export, Progress

_KINDS = {
    Part.SCOPES: RecordKind.SCOPE,
    Part.MEMORIES: RecordKind.MEMORY,
    Part.ERASED: RecordKind.ERASED,
    Part.LINKS: RecordKind.LINK,
    Part.USAGE: RecordKind.USAGE,
    Part.JOURNAL: RecordKind.JOURNAL,
    Part.ACCESS_KEYS: RecordKind.ACCESS_KEY,
}


def compare_parts(
    expected: Mapping[str, PartTotal], target: Storage, progress: Progress | None = None
) -> tuple[Finding, ...]:
    """Export `target` again, and return a finding for every part that differs from `expected`.

    The export of equal content has the same records in the same order, so two parts are equal to
    the byte if their digests are.
    """
    totals = Totals()
    export = Export(target, progress=progress)
    for record_type, content in export.records():
        totals.add(record_type, content)
    parts = totals.parts()
    different = [_describe_difference(p, expected.get(p), parts.get(p)) for p in _KINDS]
    return (*export.left_out, *(finding for finding in different if finding is not None))


def _describe_difference(
    part: Part, expected: PartTotal | None, copied: PartTotal | None
) -> Finding | None:
    if expected == copied:
        return None
    counts = " and ".join(f"{0 if each is None else each.records:,}" for each in (expected, copied))
    name = str(part).replace("_", " ")
    return Finding(
        part=_KINDS[part],
        what=f"the {name} in the target differ from those of the source: {counts} records",
        way_out="verify the source and the disk of the target, then repeat this",
    )
