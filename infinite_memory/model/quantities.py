"""Numbers in sentences: a count with its noun, a size with its unit."""

from __future__ import annotations

__all__ = ["format_count", "format_size"]


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 memory", "2,000 memories"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_size(size_bytes: int) -> str:
    """Return a number of bytes in the unit that suits it: "1 byte", "2.0 KB"."""
    if size_bytes < 1000:
        return format_count(size_bytes, "byte")
    amount = float(size_bytes)
    for unit in ("KB", "MB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} GB"
