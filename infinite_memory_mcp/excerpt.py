"""The part of a stored text that an answer shows, and how to read the rest."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from infinite_memory.core.values.conversation.attachment import attachment_of, describe_attachment
from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Memory, shown_text
from infinite_memory.search.text.quotation import quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens

# A text of about this many tokens is shown whole in a list; a longer one by its beginning.
_WHOLE_TOKENS = 300
_BEGINNING_TOKENS = 120
_CHUNK_CHARS = 200_000
_ATTACHMENT_CHARS = 300


@frozen(kw_only=True)
class Excerpt:
    """A part of a text from `start` to `end`, as it is `shown`; a `heading` is no part of it."""

    shown: str
    start: int
    end: int
    length: int
    heading: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether something of the text is missing."""
        return self.heading or self.end - self.start < self.length

    @property
    def remark(self) -> str:
        """How much of the text is shown, and how to read on."""
        if self.heading:
            return f"cut: a heading of {self.length:,} characters; ids shows them"
        read_on = f"offset {self.end} reads on" if self.end < self.length else "offset 0 begins it"
        return (
            f"cut: characters {self.start:,} to {self.end:,} of {self.length:,}; ids with {read_on}"
        )


def excerpt_of(hit: Hit, depth: Depth, *, covered: bool) -> Excerpt:
    """Return the part of a hit that an answer at this depth shows, with "…" for omitted text.

    For a memory that a summary covers it is the heading, as in an exhaustive search.
    """
    text = hit.memory.text
    if depth is Depth.EXHAUSTIVE or covered:
        heading = hit.memory.heading
        is_heading = heading != text
        return Excerpt(shown=heading, start=0, end=len(text), length=len(text), heading=is_heading)
    return _make_part(text, *((0, len(text)) if hit.highlight is None else hit.highlight))


def beginning_of(memory: Memory) -> Excerpt:
    """Return the whole of a text that is not long, or its beginning."""
    text = shown_text(memory)
    if len(text) <= _WHOLE_TOKENS or (
        len(text) < _CHUNK_CHARS and estimate_tokens(text) <= _WHOLE_TOKENS
    ):
        return _make_part(text, 0, len(text))
    return window_of(memory, 0, _BEGINNING_TOKENS)


def window_of(memory: Memory, offset: int, tokens: int) -> Excerpt:
    """Return as much of a text from the character `offset` on as fits in so many tokens."""
    whole = shown_text(memory)
    text = whole[offset : offset + _CHUNK_CHARS]
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        # Every line is quoted.
        if estimate_tokens(text[:middle]) + 2 * text.count("\n", 0, middle) <= tokens:
            low = middle
        else:
            high = middle - 1
    end = offset + low
    if end < len(whole):
        space = whole.rfind(" ", offset + low // 2, end)
        end = end if space < 0 else space + 1
    return _make_part(whole, offset, end)


def excerpt_lines(memory: Memory, excerpt: Excerpt) -> Iterator[str]:
    """Yield the quoted excerpt, the type and the reference of an attachment, and how to read on."""
    yield quote_lines(excerpt.shown)
    if attachment_of(memory) is not None:
        described = describe_attachment(memory) or ""
        yield f"attachment: {quote_label(described, max_chars=_ATTACHMENT_CHARS)}"
    if excerpt.is_cut and not excerpt.heading:
        yield excerpt.remark


def _make_part(text: str, start: int, end: int) -> Excerpt:
    shown = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
    return Excerpt(shown=shown, start=start, end=end, length=len(text))
