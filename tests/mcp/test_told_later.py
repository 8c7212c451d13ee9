"""What the tools say of hits that were told later or earlier than each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from talking import call, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]
OLD = "the weekly standup of the team starts at nine"
NEW = "the weekly standup of the team begins at noon"
QUESTION = "at what time does the weekly standup of the team start"


async def tell(client: Client) -> None:
    for name, said, day in (("old", OLD, "2026-01-02T09:00Z"), ("new", NEW, "2026-05-02T09:00Z")):
        await call(client, "store_memory", text=said, id=f"the-{name}-one", happened_at=day)


async def test_each_of_two_near_hits_names_the_other_in_a_line(connect: Connect) -> None:
    async with connect() as client:
        await tell(client)
        said = await text(client, "retrieve_memory", query=QUESTION)
    _, new, old = said.split("\n\n")
    assert new.split("\n")[1:] == [f"> {NEW}", "told earlier, on 2026-01-02: id -old-one"]
    assert old.split("\n")[1:] == [f"> {OLD}", "told later, on 2026-05-02: id -new-one"]


async def test_the_data_name_them_too_and_nothing_where_there_is_none(connect: Connect) -> None:
    async with connect() as client:
        await tell(client)
        new, old = (await call(client, "retrieve_memory", query=QUESTION))["hits"]
        (alone,) = (await call(client, "retrieve_memory", query=QUESTION, limit=1))["hits"]
    assert new["told_earlier"] == [
        {"id": "the-old-one", "happened_at": "2026-01-02T09:00:00Z", "text": OLD}
    ]
    assert old["told_later"] == [
        {"id": "the-new-one", "happened_at": "2026-05-02T09:00:00Z", "text": NEW}
    ]
    assert not {"told_later"} & new.keys()
    assert not {"told_later", "told_earlier"} & alone.keys()


async def test_the_explanation_says_why_the_later_one_moved(connect: Connect) -> None:
    async with connect() as client:
        await tell(client)
        said = await text(client, "retrieve_memory", query=QUESTION, explain=True)
    assert "it was told later than a near one +0." in said


async def test_a_message_is_the_quotation_of_what_was_made_from_it(
    store: MemoryStore, connect: Connect
) -> None:
    store.remember(OLD, id="the-message", kind="message")
    store.remember(NEW, id="the-fact", kind="fact", sources=["the-message"])
    async with connect() as client:
        said = await text(client, "retrieve_memory", query=QUESTION)
        (hit,) = (await call(client, "retrieve_memory", query=QUESTION))["hits"]
    assert f"> {NEW}\nmade from a message, on " in said
    assert said.endswith(f"> {OLD}")
    assert [told["text"] for told in hit["made_from"]] == [OLD]
