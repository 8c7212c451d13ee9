"""The messages of a conversation: what a caller may give, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.conversation.message import (
    ChatMessage,
    check_messages,
    render_messages,
)


def check(messages: Any) -> tuple[ChatMessage, ...]:
    return check_messages(messages, max_bytes=100, zone="Asia/Shanghai")


def test_a_message_has_a_role_and_a_content() -> None:
    (message,) = check([{"role": "User", "content": "今天是我的生日"}])
    assert message == ChatMessage(role="user", content="今天是我的生日")
    assert message.speaker == "user"
    assert check([message]) == (message,)


@pytest.mark.parametrize(
    ("timestamp", "moment"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_700_000_000.5, datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)),
        (1_700_000_000_123, datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)),
        ("2026-03-14T09:00:00Z", datetime(2026, 3, 14, 9, tzinfo=UTC)),
        ("2026-03-14T09:00:00", datetime(2026, 3, 14, 1, tzinfo=UTC)),
        (datetime(2026, 3, 14, 9, tzinfo=UTC), datetime(2026, 3, 14, 9, tzinfo=UTC)),
    ],
)
def test_a_timestamp_is_a_number_iso_or_a_datetime(timestamp: object, moment: datetime) -> None:
    (message,) = check([{"role": "user", "content": "hello", "timestamp": timestamp}])
    assert message.said_at == moment


def test_messages_are_rendered_with_their_speakers() -> None:
    messages = check(
        [{"role": "user", "content": "hi", "name": "Zoë"}, {"role": "assistant", "content": "hey"}]
    )
    assert render_messages(messages) == "Zoë: hi\nassistant: hey"


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ("hello", "is a list of messages"),
        ({"role": "user", "content": "hello"}, "is a list of messages"),
        (None, "is a list of messages"),
        (["hello"], "give an object with role and content"),
        ([{"content": "hello"}], "role is missing"),
        ([{"role": "user"}], "content is missing"),
        ([{"role": "user", "content": "  "}], "content is empty"),
        ([{"role": "user", "content": 7}], "content"),
        ([{"role": "user", "content": "x" * 101}], "has 101 bytes"),
        ([{"role": "user", "contents": "hello"}], "content"),
        ([{"role": "user", "content": "hello", "timestamp": -1}], "give seconds since 1970"),
        ([{"role": "user", "content": "hello", "timestamp": True}], "timestamp"),
        ([{"role": "user", "content": "hello", "timestamp": "soon"}], "soon"),
        ([{"role": "user", "content": "hello", "timestamp": float("nan")}], "give seconds"),
        ([{"role": "user", "content": "\ud800"}], "content"),
    ],
)
def test_other_messages_are_refused_with_their_position(messages: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check(messages)


def test_the_position_is_said() -> None:
    with pytest.raises(InvalidInput, match="message 2 of 2 in messages"):
        check([{"role": "user", "content": "hello"}, {"role": "user", "content": ""}])
