"""What users give is never more than a value, and what cannot be kept is refused beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mongo_servers import Deployment, deployment
from pymongo import MongoClient

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    Erase,
    Expect,
    ExpectContent,
    ExpectKey,
    Put,
    merge_commits,
)
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import (
    Action,
    Actor,
    JournalEnd,
    LinkStep,
    MemoryStep,
    Operation,
)
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.storage_contract import make_embedding, make_memory, put
from infinite_memory.testing.storage_contract.base import NOW, make_link
from infinite_memory.testing.storage_contract.journal import make_action

pytestmark = pytest.mark.slow("mongodb")

OPERATORS = ["$where", "$ne", "$gt", "$expr", "a.b", "$a.$b", "", '{"$gt": ""}', "{$ne: null}"]
NASTY = [*OPERATORS, "nul\0nul", "$$NOW", "$_id", "$$ROOT", "#", "a#1#2", "__proto__"]
LONE = "\ud800"
MEGABYTE = 1 << 20


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"$end": [None]}
    for level in range(depth):
        value = {"$ne" if level % 2 else "a.b": value}
    return value


@pytest.fixture
def address(single: Deployment) -> Iterator[str]:
    address = single.address("bad_input")
    yield address
    with MongoClient(address, timeoutMS=60_000) as client:
        client.drop_database("bad_input")


@pytest.fixture
def storage(address: str) -> Iterator[Storage]:
    storage = open_mongodb(address)
    yield storage
    storage.close()


def test_every_field_keeps_an_operator_as_the_text_that_it_is(storage: Storage) -> None:
    puts = [
        put(
            text or "no name",
            text=text,
            title=text,
            scope=text,
            tags=(text,),
            context={text: {text: [text, nested(100)]}},
            conversation_id=text,
            speaker=text,
            key=text,
            sources=(text,),
            attachments=(text,),
            embedding=make_embedding(number, model=text or "model"),
        )
        for number, text in enumerate(NASTY)
    ]
    scopes = [Scope(name=t, description=t, parent=t, keywords=(t,)) for t in NASTY]
    storage.commit(Commit(puts=puts, scopes=scopes))
    found = storage.get([each.memory.id for each in puts])
    assert [found[each.memory.id].memory for each in puts] == [each.memory for each in puts]
    assert all(found[p.memory.id].embeddings == p.embeddings for p in puts)
    for scope in scopes:
        assert storage.scopes()[scope.name] == scope


def test_conditions_find_what_has_that_very_text(storage: Storage) -> None:
    storage.commit(
        Commit(puts=[put("plain", scope="s", tags=("t",), conversation_id="c", key="k")])
    )
    storage.commit(
        Commit(puts=[put("x" + t, scope=t, tags=(t,), conversation_id=t, key=t) for t in NASTY])
    )
    for text in NASTY:
        for criteria in (
            Criteria(scopes=frozenset([text])),
            Criteria(tags=(text,)),
            Criteria(conversation_id=text),
            Criteria(key=text),
        ):
            page = storage.find(criteria, limit=100)
            assert [memory.id for memory in page.memories] == ["x" + text]
        assert storage.get([text]) == {}
        assert storage.history(text) == []
        assert storage.erased([text]) == frozenset()
        assert "plain" in storage.pending(text, limit=1000)


def test_links_the_journal_and_usage_keep_an_operator_as_the_text_that_it_is(
    storage: Storage,
) -> None:
    storage.commit(Commit(puts=[put(text) for text in NASTY]))
    links = []
    for number, text in enumerate(NASTY, 1):
        other = NASTY[number % len(NASTY)]
        link = make_link(text, other, made_by=text, reason=text)
        action = Action(
            at=NOW,
            actor=Actor(client=text, process=text),
            operation=Operation.LINK,
            memories=(MemoryStep(id=text, before=0, after=2**70),),
            links=(LinkStep(before=None, after=link),),
            reason=text,
        )
        links.append(link)
        storage.commit(Commit(links=[link], entry=action))
        storage.count_usage({text: Usage(count=number, last=NOW)})
        assert storage.journal(limit=1)[0].action == action
        assert [entry.number for entry in storage.journal(limit=9, memory_id=text)] == [number]
    assert storage.links(NASTY) == sorted(links, key=lambda each: (each.source, each.target))
    for number, text in enumerate(NASTY, 1):
        assert storage.usage([text, "none"]) == {text: Usage(count=number, last=NOW)}
        assert len(storage.links([text])) == 2
    storage.commit(Commit(erases=[Erase(id=NASTY[0])]))
    assert len(storage.links(NASTY)) == len(NASTY) - 2
    assert list(storage.usage(NASTY)) == NASTY[1:]


def test_ids_that_look_alike_when_they_are_joined_have_links_of_their_own(
    storage: Storage,
) -> None:
    ids = ['a", "b', "a", "b", 'b", "semantic', '["a"]', "a,b", "\\"]
    storage.commit(Commit(puts=[put(each) for each in ids]))
    links = [make_link(one, other, reason=one) for one in ids for other in ids]
    storage.commit(Commit(links=links))
    assert storage.links(ids) == sorted(links, key=lambda each: (each.source, each.target))


def test_writes_about_an_operator_touch_nothing_else(storage: Storage) -> None:
    storage.commit(Commit(puts=[put("plain", embedding=make_embedding())]))
    before = storage.get(["plain"])
    for text in NASTY:
        storage.commit(
            Commit(
                expect=Expect(
                    scopes={text: None},
                    unused=frozenset([text]),
                    keys=[ExpectKey(scope=text, key=text, ids=frozenset())],
                    contents=[
                        ExpectContent(
                            scopes=frozenset([text]), content_hashes=frozenset([bytes(32)])
                        )
                    ],
                ),
                erases=[Erase(id=text)],
                attaches=[Attach(id=text, revision=1, embedding=make_embedding())],
                detaches=[Detach(id=text, keep=text)],
                erased_links=[LinkKey(text, text, LinkType.SEMANTIC)],
                links=[make_link(text, "plain")],
                erased_scopes=[text],
            )
        )
    assert storage.get(["plain"]) == before
    assert storage.erased(NASTY) == frozenset()
    assert storage.links([*NASTY, "plain"]) == []


LONE_COMMITS = [
    Commit(erases=[Erase(id=LONE)]),
    Commit(erased_scopes=[LONE]),
    Commit(detaches=[Detach(id=LONE, keep="m")]),
    Commit(attaches=[Attach(id=LONE, revision=1, embedding=make_embedding())]),
    Commit(scopes=[Scope(name="s", description=LONE)]),
    Commit(expect=Expect(unused=frozenset([LONE]))),
    Commit(puts=[put(LONE)]),
    Commit(puts=[put("b", text=LONE)]),
    Commit(puts=[put("b", tags=(LONE,))]),
    Commit(puts=[put("b", context={LONE: 1})]),
    Commit(puts=[put("b", context={"a": [LONE]})]),
    Commit(puts=[put("b", context={"a": float("nan")})]),
    Commit(puts=[Put(memory=make_memory("b", revision=2**70), expected=0)]),
    Commit(puts=[put("b", embedding=make_embedding(model=LONE))]),
    Commit(links=[make_link(LONE, "a")]),
    Commit(links=[make_link("a", "a", reason=LONE)]),
    Commit(erased_links=[LinkKey(LONE, "a", LinkType.SEMANTIC)]),
    Commit(expect=Expect(keys=[ExpectKey(scope="s", key=LONE, ids=frozenset())])),
    Commit(
        expect=Expect(
            contents=[
                ExpectContent(scopes=frozenset([LONE]), content_hashes=frozenset([bytes(32)]))
            ]
        )
    ),
    Commit(entry=make_action(LONE)),
    Commit(entry=Action(at=NOW, actor=Actor(client=LONE), operation=Operation.LINK)),
    Commit(entry=Action(at=NOW, operation=Operation.UNDO, undoes=2**70)),
]


@pytest.mark.parametrize("number", range(len(LONE_COMMITS)))
def test_what_no_database_can_keep_is_refused_and_nothing_written(
    storage: Storage, number: int
) -> None:
    commit = merge_commits(Commit(puts=[put("a")]), LONE_COMMITS[number])
    with pytest.raises(InvalidInput):
        storage.commit(commit)
    assert storage.get(["a", "b"]) == {}
    assert storage.position() == 0
    assert storage.journal_end() == JournalEnd()
    storage.commit(Commit(puts=[put("a")]))


@pytest.mark.parametrize(
    "look",
    [
        lambda s: s.get([LONE]),
        lambda s: s.history(LONE),
        lambda s: s.erased([LONE]),
        lambda s: s.find(Criteria(scopes=frozenset([LONE])), limit=1),
        lambda s: s.find(Criteria(tags=(LONE,)), limit=1),
        lambda s: s.find(Criteria(conversation_id=LONE), limit=1),
        lambda s: s.find(Criteria(key=LONE), limit=1),
        lambda s: s.links([LONE]),
        lambda s: s.journal(limit=1, memory_id=LONE),
        lambda s: s.usage([LONE]),
        lambda s: s.count_usage({LONE: Usage(count=1, last=NOW)}),
    ],
)
def test_a_question_with_a_lone_surrogate_is_refused(
    storage: Storage, look: Callable[[Storage], object]
) -> None:
    with pytest.raises(InvalidInput):
        look(storage)


def test_a_document_over_sixteen_megabytes_is_refused_before_anything_is_written(
    storage: Storage,
) -> None:
    with pytest.raises(InvalidInput, match="divide it"):
        storage.commit(Commit(puts=[put("a"), put("huge", text="x" * 16 * MEGABYTE)]))
    # As a revision each of these would take six bytes, and the memory could never be changed.
    with pytest.raises(InvalidInput, match="divide it"):
        storage.commit(Commit(puts=[put("a"), put("escapes", text="\x01" * 3 * MEGABYTE)]))
    assert storage.get(["a", "huge", "escapes"]) == {}
    assert storage.position() == 0


def test_a_text_of_fifteen_megabytes_can_be_stored_changed_and_erased(storage: Storage) -> None:
    text = "y" * 15 * MEGABYTE
    storage.commit(Commit(puts=[put("large", text=text)]))
    storage.commit(Commit(puts=[put("large", revision=2, text="small")]))
    assert [memory.text for memory in storage.history("large")] == [text, "small"]
    storage.commit(Commit(erases=[Erase(id="large")]))
    assert storage.get(["large"]) == {}


def test_a_commit_may_be_larger_than_a_document(storage: Storage) -> None:
    _commit_large(storage, 20)


def test_a_commit_may_be_larger_than_a_message() -> None:
    with deployment(1, extra=("--wiredTigerCacheSizeGB", "1")) as servers:
        storage = open_mongodb(servers.address("large"))
        _commit_large(storage, 60)
        storage.close()


def _commit_large(storage: Storage, megabytes: int) -> None:
    puts = [put(f"m{n}", text=chr(97 + n % 26) * 4 * MEGABYTE) for n in range(megabytes // 4)]
    storage.commit(Commit(puts=puts))
    for each in puts:
        assert storage.get([each.memory.id])[each.memory.id].memory == each.memory
    assert len(storage.changes(0, limit=100).items) == len(puts)


def test_a_commit_is_carried_out_or_refused_by_what_the_server_can_hold(storage: Storage) -> None:
    # The servers of these tests have a cache of 256 MB, and a transaction must fit into it.
    puts = [put(f"m{n}", text="z" * 8 * MEGABYTE) for n in range(20)]
    stored = False
    with suppress(InvalidInput):
        storage.commit(Commit(puts=puts))
        stored = True
    assert storage.position() == (20 if stored else 0)
    assert len(storage.get([puts[0].memory.id])) == int(stored)
    storage.commit(Commit(puts=[put("next")]))


def test_thousands_of_memories_in_one_commit(storage: Storage) -> None:
    storage.commit(Commit(puts=[put(f"{n:05}", scope="many") for n in range(3000)]))
    storage.commit(Commit(puts=[put(f"{n:05}", revision=2) for n in range(3000)]))
    assert sum(storage.measure().memories.values()) == 3000
    assert storage.position() == 6000
    assert storage.measure().revisions == 3000


def test_the_first_and_the_last_day_come_back_and_can_be_looked_for(storage: Storage) -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    for name, moment in (("first", first), ("last", last)):
        memory = make_memory(
            name, happened_at=moment, stored_at=moment, valid_from=moment, valid_to=moment
        )
        storage.commit(Commit(puts=[put(name, **_times(memory))]))
        assert storage.get([name])[name].memory == memory
    page = storage.find(Criteria(since=last - timedelta(microseconds=1)), limit=9)
    assert [memory.id for memory in page.memories] == ["last"]
    page = storage.find(Criteria(until=first + timedelta(microseconds=1)), limit=9)
    assert [memory.id for memory in page.memories] == ["first"]


def _times(memory: Any) -> dict[str, Any]:
    names = ("happened_at", "stored_at", "valid_from", "valid_to")
    return {name: getattr(memory, name) for name in names}


def test_names_with_a_number_sign_never_share_a_passage(storage: Storage) -> None:
    storage.commit(Commit(puts=[put("a", embedding=make_embedding(1, passages=3, model="0#m"))]))
    storage.commit(Commit(puts=[put("a#1", embedding=make_embedding(2, passages=3, model="m"))]))
    found = storage.get(["a", "a#1"])
    assert found["a"].embeddings == (make_embedding(1, passages=3, model="0#m"),)
    assert found["a#1"].embeddings == (make_embedding(2, passages=3, model="m"),)
