"""Servers with one defect each, to show that the fuzzer, or the kills, find it.

python broken.py NAME [the arguments of infinite-memory-mcp]
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.search.text import quotation
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory_mcp import command, jsonrpc, stdio, tool
from infinite_memory_mcp.toolsets import overview, writing

# Longer than a busy machine takes from an answer to a kill.
_HASTE_SECONDS = 1.0


def _replace(place: object, name: str, value: object) -> Any:
    """Put `value` in the place of what `place` has under that name, and return that."""
    honest = getattr(place, name)
    setattr(place, name, value)
    return honest


def _has_surrogate(values: Mapping[str, Any]) -> bool:
    return any(isinstance(v, str) and not jsonrpc._is_encodable(v) for v in values.values())


def _dies_on_surrogates() -> None:
    def careless(kind: Any, values: Mapping[str, Any]) -> Any:
        if _has_surrogate(values):
            sys.exit(1)
        return honest(kind, values)

    honest = _replace(tool, "parse", careless)


def _sends_surrogates() -> None:
    def quoting(kind: Any, values: Mapping[str, Any]) -> Any:
        if _has_surrogate(values):
            raise InvalidInput(f"these cannot be used: {' '.join(map(str, values.values()))}")
        return honest(kind, values)

    def escaping(message: Any) -> bytes:
        data = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(data).encode() + b"\n"

    honest = _replace(tool, "parse", quoting)
    _replace(quotation, "replace_surrogates", str)
    _replace(stdio, "write_frame", escaping)


def _never_answers() -> None:
    _replace(MemoryStore, "browse", lambda _self, **_fields: threading.Event().wait())


def _answers_twice() -> None:
    def stammering(message: Any) -> bytes:
        line: bytes = honest(message)
        return line * 2 if b"Stored: id" in line else line

    honest = _replace(stdio, "write_frame", stammering)


def _lacks_a_field() -> None:
    def forgetful(receipt: Any) -> dict[str, Any]:
        return {name: value for name, value in honest(receipt).items() if name != "revision"}

    honest = _replace(writing, "receipt_to_data", forgetful)


def _alters_texts() -> None:
    def tidy(self: MemoryStore, text: str, **fields: Any) -> Any:
        return honest(self, text.strip(), **fields)

    honest = _replace(MemoryStore, "remember", tidy)


def _loses_texts() -> None:
    def lazy(self: MemoryStore, text: str, **fields: Any) -> Any:
        receipt = honest(self, text, **fields)
        if "9" in text:
            self.forget(receipt.id, hard=True)
        return receipt

    honest = _replace(MemoryStore, "remember", lazy)


def _answers_first() -> None:
    def hasty(self: MemoryStore, text: str, **fields: Any) -> Any:
        moment = datetime.now(UTC)
        threading.Timer(_HASTE_SECONDS, partial(honest, self, text, **fields)).start()
        return Receipt(
            id=fields["id"],
            outcome=Outcome.STORED,
            revision=1,
            scope="Global",
            stored_at=moment,
            searchable=Searchable.WORDS,
        )

    honest = _replace(MemoryStore, "remember", hasty)


def _has_a_defect() -> None:
    _replace(overview, "_render_scope", lambda scope: str(scope.no_such_field))


BUILDS: dict[str, Callable[[], None]] = {
    "dies-on-surrogates": _dies_on_surrogates,
    "sends-surrogates": _sends_surrogates,
    "never-answers": _never_answers,
    "answers-twice": _answers_twice,
    "lacks-a-field": _lacks_a_field,
    "alters-texts": _alters_texts,
    "loses-texts": _loses_texts,
    "has-a-defect": _has_a_defect,
    "answers-first": _answers_first,
}
"""What breaks a server, by name; each is to be called before the server starts."""


if __name__ == "__main__":
    BUILDS[sys.argv[1]]()
    sys.exit(command.main(sys.argv[2:]))
