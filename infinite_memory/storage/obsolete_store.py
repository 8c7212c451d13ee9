"""The refusal of stores that a development version before schema 1 has written."""

from __future__ import annotations

from infinite_memory.core.errors import SchemaTooOld

_LIST = "infinite-memory list --scope ALL --mode history --limit 1000 --json"


def obsolete_store_error(place: str, *, option: str, move_away: str, discard: str) -> SchemaTooOld:
    """Return the error for the store at `place`, which says how to move or to discard it.

    `option` is the command-line option that names the store. `move_away` and `discard` are the
    sentences that tell the user how to make room for a new store.
    """
    return SchemaTooOld(
        f"{place} is the store of an earlier development version, which this version does not read;"
        f" nothing was changed. To move it, run `{_LIST} {option} > memories.json` with the program"
        " that wrote it (beyond 1,000 memories once more with `--after NEXT >> memories.json`; NEXT"
        f" is the `next` of the page before), {move_away}, and run `infinite-memory remember"
        f" --from memories.json` with this version. To discard it, {discard}"
    )
