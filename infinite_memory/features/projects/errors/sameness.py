"""Whether two errors are surely of the same kind, so that the solution of one is worth showing."""

from __future__ import annotations

import re

from infinite_memory.features.projects.errors.signature import ErrorSignature, rate_line

# Chosen on the tuning halves of the cases and of benchmarks/labelled/errors.jsonl.
_LEAST_SHARED, _LEAST_LINES = 0.5, 0.6
_LABEL = 2
# A name, a path or a number differs from place to place; the words of a sentence do not.
_QUOTED = re.compile(r"[‘'`\"“«](?=\S)[^'`\"’”»\n]{0,80}[’'`\"”»](?!\w)")
_WORD = re.compile(r"(?<![\w./\\@:#$-])[A-Za-z]?[a-z]{2,}(?![\w/\\@#$(-]|[.:]\w)")
_CLAUSE = re.compile(r": |; |\. |\(")
_CODE = re.compile(r"(?<![\w.])[1-9]\d{2,4}(?![\w.])")


def is_same_kind(first: ErrorSignature, second: ErrorSignature) -> bool:
    """Return whether two errors have the same name, number and words; the order does not matter.

    The name and the number may be unknown in one. Of the last clause of each message, half the
    words stand in a line of the other error, and so do of most failing lines of one of them. Words
    in quotation marks, names, paths and numbers may differ.
    """
    if first.name and second.name and first.name != second.name:
        return False
    codes, others = (set(_CODE.findall(error.message)) for error in (first, second))
    if codes and others and not codes & others:
        return False
    shares = []
    for error, other in ((first, second), (second, first)):
        lines = [_list_words(line) for line in (*other.text.split("\n"), other.message)]
        if not _is_found(error.message, lines):
            return False
        failing = [line for line in error.text.split("\n") if rate_line(line) >= _LABEL]
        found = [_is_found(line, lines) for line in failing if _list_last_words(line)]
        shares.append(sum(found) / len(found) if found else 1.0)
    return max(shares) >= _LEAST_LINES


def _is_found(line: str, lines: list[set[str]]) -> bool:
    words = _list_last_words(line)
    return not words or max(len(words & other) for other in lines) >= _LEAST_SHARED * len(words)


def _list_last_words(line: str) -> set[str]:
    """Return the words of the last clause that has two of them, which says what failed."""
    clauses = [words for part in _CLAUSE.split(line) if len(words := _list_words(part)) > 1]
    return clauses[-1] if clauses else _list_words(line)


def _list_words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(_QUOTED.sub(" ", text))}
