"""Stores of the development versions before schema 1, which no program reads any more."""

from __future__ import annotations

from infinite_memory.errors import SchemaTooOld

__all__ = ["earlier_store"]

_LIST = "infinite-memory list --scope ALL --mode history --limit 1000 --json"


def earlier_store(place: str, *, option: str, put_away: str, discard: str) -> SchemaTooOld:
    """Return the error for the store at `place`, which says how to move or to discard it.

    `option` is what names the store on the command line, `put_away` what makes room for a new one.
    """
    return SchemaTooOld(
        f"{place} is the store of an earlier development version, which this version does not read;"
        f" nothing was changed. To move it, run `{_LIST} {option} > memories.json` with the program"
        " that wrote it (beyond 1,000 memories once more with `--after NEXT >> memories.json`; NEXT"
        f" is the `next` of the page before), {put_away}, and run `infinite-memory remember"
        f" --from memories.json` with this version. To discard it, {discard}"
    )
