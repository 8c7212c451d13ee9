"""Lines of the wire that are no sound request, and requests at the edge of what is one."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from attrs import frozen

from tests.harness.hostile import encode, hostile_text, hostile_value


@frozen(kw_only=True)
class Frame:
    """A line to be sent, without its end.

    `answers` is how many answers it must get: one that is an error if `refused`. `ids` are the
    JSON forms of the ids that the answer may have.
    """

    line: bytes
    answers: int = 1
    refused: bool = True
    ids: tuple[str, ...] = ("null",)


_NO_REQUEST = (
    *(b"not json", b"{", b"[]", b"[1]", b"{}", b"1", b"null", b'"text"', b"true", b"NaN", b"-"),
    *(
        b"\xff\xfe",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\x00",
        b"\x1b[2J",
        b"\xef\xbb\xbf{}",
    ),
    *(b'{"jsonrpc": "2.0"}', b'{"a": 1}', b'{"jsonrpc": "2.0", "method": 1}', b"{'a': 1}", b"{}{}"),
    *(
        b"[" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000,
        b"9" * 5000,
        b"Content-Length: 2",
    ),
    b'[{"jsonrpc": "2.0", "id": "a", "method": "ping"}]',
    '{"jsonrpc": "2.0", "id": "a", "method": "ping"}'.encode("utf-16-le"),
)
_SILENT = (
    *(b"", b" ", b"\r", b"\t \t", b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'),
    b'{"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {"a": [1]}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "no such"}}',
    b'{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}',
    b'{"jsonrpc": "2.0", "id": "never asked", "result": {}}',
)
_UNUSABLE_IDS = ("null", "1.5", "true", "[]", "{}", '"\\ud800"', "NaN", "1e400")
_METHODS = (
    *("ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list"),
    *("prompts/get", "completion/complete", "logging/setLevel", "server/discover", "tools/call"),
    *("resources/templates/list", "no/such/method", "", "__class__", "notifications/initialized"),
)


def make_frame(random: Random, number: int) -> Frame:
    """Return a frame; the request in it, if it has an id of its own, has one made of `number`."""
    return random.choice(_MAKERS)(random, number)


def _no_request(random: Random, _number: int) -> Frame:
    return Frame(line=random.choice(_NO_REQUEST))


def _silent(random: Random, _number: int) -> Frame:
    return Frame(line=random.choice(_SILENT), answers=0)


def _unusable_id(random: Random, _number: int) -> Frame:
    value = random.choice(_UNUSABLE_IDS)
    return Frame(line=f'{{"jsonrpc": "2.0", "id": {value}, "method": "ping"}}'.encode())


def _unusual_id(random: Random, number: int) -> Frame:
    text = hostile_text(random).encode(errors="replace").decode()
    value = json.dumps(
        random.choice(
            (f"{text[:2000]}{number}", 2**63 + number, -(2**63) - number, 10**40 + number)
        )
    )
    line = f'{{"jsonrpc": "2.0", "id": {value}, "method": "ping"}}\r'
    return Frame(line=line.encode(), refused=False, ids=(value,))


def _broken_request(random: Random, number: int) -> Frame:
    """A request that no tool may see, since it has no method, no version, or no parameters."""
    rest = random.choice(
        (
            '"jsonrpc": "2.0"',
            '"jsonrpc": "1.0", "method": "ping"',
            '"method": "ping"',
            '"jsonrpc": 2.0, "method": "ping"',
            '"jsonrpc": "2.0", "method": null',
            '"jsonrpc": "2.0", "method": ["ping"]',
            '"jsonrpc": "2.0", "method": "\\ud800"',
            '"jsonrpc": "2.0", "method": "ping", "params": [1]',
            '"jsonrpc": "2.0", "method": "ping", "params": "a"',
            '"jsonrpc": "2.0", "method": "tools/call", "params": [{"name": "get_memory_stats"}]',
        )
    )
    return Frame(line=f'{{"id": {number}, {rest}}}'.encode(), ids=("null", str(number)))


def _unreadable_request(random: Random, number: int) -> Frame:
    """A call with a line that cannot be read to its end."""
    spoilt = random.choice(
        (
            b'"\xff"',
            b'"\xed\xa0\x80"',
            b'"\x01"',
            b'"open',
            b"[" * 10_000 + b"]" * 10_000,
            b"1" * 5000,
            b"tru",
            b"0x10",
            b'"\\x"',
            b'"\\u12"',
            b"01",
        )
    )
    line = (
        b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "store_memory",'
    )
    line += b' "arguments": {"text": %s}}}'
    return Frame(line=line % (number, spoilt), ids=("null", str(number)))


def _any_method(random: Random, number: int) -> Frame:
    """A sound request for any method, with parameters of any sort."""
    params = {
        random.choice(("name", "cursor", "uri", "_meta", "arguments", "ref", "level", "task")): (
            hostile_value(random)
        )
    }
    fields = {"jsonrpc": "2.0", "id": number, "method": random.choice(_METHODS), "params": params}
    line = encode(fields)
    return Frame(line=line.encode(), refused=False, ids=_answered_as(line, str(number)))


def _answered_as(line: str, known: str) -> tuple[str, ...]:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return (known, "null")
    return (known,)


_MAKERS: tuple[Callable[[Random, int], Frame], ...] = (
    _no_request,
    _silent,
    _unusable_id,
    _unusual_id,
    _broken_request,
    _unreadable_request,
    _any_method,
    _any_method,
)
