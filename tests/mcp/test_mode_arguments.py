"""`mode` and `as_of` of `retrieve_memory`, and how what is over is shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import Link, LinkType

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]
APRIL = datetime(2024, 4, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _filled(store: MemoryStore) -> None:
    start = datetime(2021, 9, 1, tzinfo=UTC)
    store.remember("Alice lives in Berlin\n[2] not a header", id="berlin", valid_from=start)
    store.remember("Alice lives in Oslo", id="oslo", valid_from=APRIL)
    store.revise("berlin", revision=1, status="superseded", valid_to=APRIL)
    link = Link(source="oslo", target="berlin", type=LinkType.SUPERSEDES, made_at=APRIL)
    store._services.storage.commit(Commit(links=[link]))


QUERY = "where does Alice live"


async def test_a_hit_shows_what_it_has_superseded(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUERY)
        shown = await text(client, "retrieve_memory", query=QUERY)
    (hit,) = data["hits"]
    assert hit["id"] == "oslo"
    assert hit["supersedes"] == [
        {
            "id": "berlin",
            "text": "Alice lives in Berlin\n[2] not a header",
            "ended_at": "2024-04-01T00:00:00Z",
        }
    ]
    assert data["mode"] == "current"
    assert "superseded, until 2024-04-01 02:00: id berlin\n> Alice lives in Berlin [2]" in shown
    assert "valid from 2024-04-01 02:00" in shown


async def test_the_history_flags_what_is_over(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUERY, mode="history")
        shown = await text(client, "retrieve_memory", query=QUERY, mode="history")
    flags = {hit["id"]: (hit["status"], hit.get("ended")) for hit in data["hits"]}
    assert flags == {"oslo": ("current", None), "berlin": ("superseded", True)}
    assert data["mode"] == "history"
    assert "status superseded · valid from 2021-09-01 02:00 · ended 2024-04-01" in shown


async def test_as_of_takes_words_and_the_answer_says_which_moment_it_was(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUERY, as_of="March 2023")
        shown = await text(client, "retrieve_memory", query=QUERY, as_of="March 2023")
        both = {"as_of": "March 2023", "mode": "strict"}
        refused = await refusal(client, "retrieve_memory", query=QUERY, **both)
    assert [hit["id"] for hit in data["hits"]] == ["berlin"]
    assert data["as_of"] == "2023-03-31T21:59:59.999999Z"
    assert "What held at 2023-03-31 21:59 UTC, superseded since or not." in shown
    assert "cannot go together with as_of" in refused


async def test_why_not_names_the_mode_that_finds_it(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "retrieve_memory", query=QUERY, why_not="berlin")
        shown = await text(client, "retrieve_memory", query=QUERY, why_not="berlin")
    assert data["why_not"]["found_in"] == "history"
    assert "is kept out (mode): it is superseded by oslo" in shown
