"""Render the memories of a period as text, with the digest of the whole period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from infinite_memory.core.values.recall_page import Digest, Landmark, Recalled
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label
from infinite_memory_mcp.render import count_memories, render_memory
from infinite_memory_mcp.view import PLAIN, View

MAX_DIGEST_ROWS = 31
"""The most scopes, days or months that a digest lists; it lists all years."""

_EMPTY_PERIOD = "Nothing of that time is stored there; scope ALL sees all but private ones."


def render_recall_page(recalled: Recalled, view: View = PLAIN) -> str:
    """Return the memories of a period, with the digest if it is given, and the next page."""
    period = f"{escape_line(recalled.said)}."
    if not recalled.total:
        nearest = [
            f"nearest {side}: {_render_landmark(landmark, view)}"
            for side, landmark in (("before", recalled.before), ("after", recalled.after))
            if landmark is not None
        ]
        return "\n".join(
            [
                f"{period} {_EMPTY_PERIOD} {NOTICE}",
                *nearest,
            ]
        )
    if not recalled:
        return f"{period} Nothing follows: {count_memories(recalled.total)} in all."
    shown = count_memories(len(recalled))
    if len(recalled) < recalled.total:
        shown = f"{len(recalled)} of {recalled.total} memories"
    more = f" More follow: call again with cursor {recalled.next!r}." if recalled.next else ""
    digest = () if recalled.digest is None else _render_digest(recalled.digest, view)
    head = "\n".join([f"{period} {shown}, {recalled.order}.{more} {view.remark}{NOTICE}", *digest])
    return "\n\n".join(
        [head, *(render_memory(n, memory, view=view) for n, memory in enumerate(recalled, 1))]
    )


def _render_digest(digest: Digest, view: View) -> Iterable[str]:
    for name, landmark in (("first", digest.first), ("last", digest.last)):
        if landmark is not None:
            yield f"{name}: {_render_landmark(landmark, view)}"
    step, counts = digest.by_time(MAX_DIGEST_ROWS)
    yield f"by {step}, in the user's time zone: {_render_counts(counts)}"
    scopes, in_other_scopes = digest.largest_scopes(MAX_DIGEST_ROWS)
    remainder = f", all others {in_other_scopes}" if in_other_scopes else ""
    yield f"by scope: {_render_counts(scopes)}{remainder}"
    yield f"by kind: {_render_counts(digest.by_kind)}"


def _render_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{quote_label(name)} {number}" for name, number in counts.items())


def _render_landmark(landmark: Landmark, view: View) -> str:
    moment = view.format_date(landmark.happened_at)
    return f"{moment} · id {view.shorten(landmark.id)} · {quote_label(landmark.heading)}"
