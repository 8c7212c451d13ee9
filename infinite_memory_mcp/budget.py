"""Cut an answer to its budget of tokens, as `search.text.token_estimate` counts them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from infinite_memory.search.text.token_estimate import estimate_tokens

DEFAULT_TOKENS = 6000
"""The default budget of an answer, in tokens."""

_FIRST_CUT = 1024
_CUT = "\n[The answer is cut here to fit {budget} tokens: ask for less, or raise max_tokens.]"


def estimate_data(data: object) -> int:
    """Return about how many tokens a model counts in `data` as JSON."""
    return estimate_tokens(json.dumps(data, ensure_ascii=False, default=str))


def fit_count(sizes: Sequence[int], budget: int) -> int:
    """Return how many leading parts, given their sizes, fit in the budget."""
    total = 0
    for number, size in enumerate(sizes):
        total += size
        if total > budget:
            return number
    return len(sizes)


def cut_text(text: str, budget: int) -> str:
    """Return `text`, cut at its end with a remark where it exceeds the budget.

    It is the last resort: a tool leaves out whole entries before, and says how to go on.
    """
    if estimate_tokens(text) <= budget:
        return text
    remark = _CUT.format(budget=budget)
    left = budget - estimate_tokens(remark)
    low, high = 0, _FIRST_CUT
    # From the beginning on: the text may be far longer than what fits.
    while high < len(text) and estimate_tokens(text[:high]) <= left:
        low, high = high, 2 * high
    high = min(high, len(text) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if estimate_tokens(text[:middle]) <= left:
            low = middle
        else:
            high = middle
    return text[:low] + remark


def cut_data(data: dict[str, Any], budget: int) -> dict[str, Any]:
    """Return `data`, with shorter texts and lists and `cut` where it exceeds the budget."""
    if estimate_data(data) <= budget:
        return data
    chars, entries = 4096, 256
    while chars > 1:
        shorter: dict[str, Any] = {**_shorten_value(data, chars, entries), "cut": True}
        if estimate_data(shorter) <= budget:
            return shorter
        chars, entries = chars // 2, max(1, entries // 2)
    return {name: _empty_value(value) for name, value in data.items() if name != "digest"}


def _shorten_value(value: Any, chars: int, entries: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]}…"
    if isinstance(value, list):
        return [_shorten_value(entry, chars, entries) for entry in value[:entries]]
    if isinstance(value, dict):
        kept = list(value.items())[: max(entries, 24)]
        return {
            (name if len(name) <= chars else f"{name[:chars]}…"): _shorten_value(
                inner, chars, entries
            )
            for name, inner in kept
        }
    return value


def _empty_value(value: Any) -> Any:
    return type(value)() if isinstance(value, str | list | dict) else value
