"""The JSON layer of the page: methods, arguments, sizes, and what each right opens."""

from __future__ import annotations

import gc
import inspect
import json
import re
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from page_clients import Browser, PageServer

from infinite_memory import MemoryStore
from infinite_memory_mcp.tool_filter import ToolFilter
from infinite_memory_mcp.web.api import METHODS, OWNER
from infinite_memory_mcp.web.arguments import list_parameters, read_arguments
from infinite_memory_mcp.web.fitting import MAX_BYTES

pytestmark = pytest.mark.anyio
OWN = {"session", "position", "scopes", "work", "import"}
BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture
async def page(store: MemoryStore) -> AsyncIterator[PageServer]:
    async with PageServer.of(store) as served:
        yield served


def find_method(store: MemoryStore, name: str) -> Any:
    found: Any = store
    for part in name.split("."):
        found = getattr(found, part)
    return found


async def upload(browser: Browser, content: bytes, query: str, **headers: str) -> Any:
    return await browser.client.post(
        f"/api/import{query}", content=content, headers={**BYTES, **headers}
    )


def test_every_method_is_one_of_the_store_and_its_arguments_can_be_given(
    store: MemoryStore,
) -> None:
    for name in METHODS.keys() - OWN:
        method = find_method(store, name)
        offered = list_parameters(method)
        for parameter in inspect.signature(method).parameters.values():
            is_needed = parameter.default is parameter.empty and parameter.kind != 4
            assert not is_needed or parameter.name in {*offered, "to"}, (name, parameter)


def test_the_guide_lists_every_method_with_its_right() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "page.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in guide.splitlines() if line.startswith("| ")]
    listed = {
        name: row[0].removeprefix("| ")
        for row in rows
        if row[0].removeprefix("| ") in METHODS.values() and "`" in row[1]
        for group, names in re.findall(r"`(\w+\.)?([\w/]+)`", row[1])
        for name in (group + each for each in names.split("/"))
    }
    assert listed == METHODS


async def test_a_method_answers_the_plain_data_of_the_store(page: PageServer) -> None:
    page.store.remember("Alice's birthday is January 20", id="a", tags=["family"])
    browser = Browser(page.app)
    found = await browser.call("search", query="when was Alice born?", limit=5)
    assert found["hits"][0]["text"] == "Alice's birthday is January 20"
    assert found["hits"][0]["score"] == page.store.search("when was Alice born?")[0].score
    absence = await browser.call("why_not", query="birthday", memory_id="a", tags=["x"])
    assert absence["step"] == "conditions"
    assert await browser.call("get", memory_id="a") == page.store.get("a").to_dict()
    page.store.remember("a note", id="b", scope="apart")
    assert await browser.call("usage", memory_id="b") is None
    assert await browser.call("triggers.coming", within=86400, scope="ALL") is not None
    graph = await browser.call("graph.export")
    assert {node["id"] for node in graph["nodes"]} == {"a", "b"}


async def test_a_change_names_its_entry_which_is_undone(page: PageServer) -> None:
    browser = Browser(page.app)
    stored = (
        await browser.ask("remember", text="Rex is a dog", happened_at="2026-01-20T09:00:00+01:00")
    ).json()
    memory_id = stored["value"]["id"]
    moment = page.store.get(memory_id).happened_at
    assert moment.isoformat() == "2026-01-20T08:00:00+00:00"
    assert await browser.call("position") == stored["entry"]
    revised = await browser.ask(
        "revise",
        memory_id=memory_id,
        revision=1,
        text="Rex was a dog",
        valid_to="2026-02-01T00:00Z",
    )
    assert revised.json()["value"]["outcome"] == "revised"
    entry = page.store.journal[revised.json()["entry"]]
    assert (entry.action.actor.client, entry.action.actor.key) == ("page", "")
    preview = await browser.ask("undo", entry=entry.number, dry_run=True)
    assert "entry" not in preview.json()
    undone = await browser.call("undo", entry=entry.number)
    assert undone["undone"].keys().isdisjoint({"process", "digest"})
    assert page.store.get(memory_id).text == "Rex is a dog"
    assert "entry" not in (await browser.ask("get", memory_id=memory_id)).json()


async def test_of_calls_at_once_each_names_its_own_entry(page: PageServer) -> None:
    browser, answers = page.show("write"), {}

    async def store(text: str) -> None:
        answers[text] = (await browser.ask("remember", text=text)).json()

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(store, f"note {number} {'x' * number}")
    for text, answer in answers.items():
        [step] = page.store.journal[answer["entry"]].action.memories
        assert page.store.get(step.id).text == text
        assert step.id == answer["value"]["id"]


async def test_a_context_of_the_names_of_an_entry_is_whole(page: PageServer) -> None:
    context = {"number": 5, "process": "p", "digest": "d"}
    page.store.remember("a note", id="a", context=context)
    browser = Browser(page.app)
    assert (await browser.call("get", memory_id="a"))["context"].items() >= context.items()
    [memory] = await browser.call("journal.history", id_or_key="a")
    assert memory["context"].items() >= context.items()
    [entry] = await browser.call("journal.entries")
    assert entry.keys().isdisjoint({"process", "digest"})


async def test_what_was_forgotten_is_brought_back(page: PageServer) -> None:
    page.store.remember("Rex is a dog", id="rex")
    browser = Browser(page.app)
    await browser.call("forget", memory_id="rex")
    await browser.call("revise", memory_id="rex", revision=2, status="current")
    assert page.store.get("rex").status == "current"


@pytest.mark.parametrize(
    ("method", "arguments", "status", "sentence"),
    [
        ("search", {}, 400, "the argument 'query' is missing"),
        ("search", {"query": 5}, 400, "query 5 cannot be used: give a text"),
        ("search", {"query": "x", "limit": True}, 400, "limit true cannot be used"),
        ("search", {"query": "x", "limit": 10**30}, 400, "limit"),
        ("search", {"query": "x", "limt": 5}, 400, "the nearest is 'limit', all are query"),
        ("search", {"query": "x", "since": "tea"}, 400, "the time 'tea' cannot be read"),
        ("search", {"query": "x", "since": 5}, 400, "since 5 cannot be used: give a time"),
        ("search", {"query": "x", "arms": ["luck"]}, 400, "luck"),
        ("search", {"query": "x", "scope": {"a": 1}}, 400, "a text or a list of texts or null"),
        ("browse", {"tags": [["x"]]}, 400, "a list of texts"),
        ("browse", {"from": -1}, 400, "from -1 cannot be used"),
        ("stats", {"from": 5}, 400, "this answer has no pages"),
        ("triggers.coming", {"within": 1e300}, 400, "a number of seconds"),
        ("position", {"x": 1}, 400, "there are none"),
        ("get", {"memory_id": "nobody"}, 404, "nobody"),
        ("revise", {"memory_id": "a", "revision": 7, "text": "x"}, 409, "7"),
        ("revise", {"memory_id": "a", "revision": 1, "kin": "x"}, 400, "the nearest is 'kind'"),
        ("backups.create", {"to": "/etc/x"}, 400, "there is no argument 'to'"),
        ("backups.verify", {"file": "/etc/passwd"}, 404, "there is no backup '/etc/passwd'"),
        ("graph.export", {"to": "/etc/x"}, 400, "there is no argument 'to'"),
        ("briefing", {"folder": "/root"}, 400, "there is no argument 'folder'"),
        ("close", {}, 404, "there is no method 'close'"),
        ("_services.storage", {}, 404, "there is no method"),
        ("exchange.export", {}, 404, "there is no method"),
        ("keys.create", {"name": "x"}, 403, "needs the right 'keys'"),
    ],
)
async def test_a_call_that_cannot_be_made_says_why_and_changes_nothing(
    page: PageServer, method: str, arguments: dict[str, Any], status: int, sentence: str
) -> None:
    page.store.remember("a note", id="a")
    before = page.store.journal.entries(limit=1)
    answered = await Browser(page.app).fail(method, **arguments)
    assert answered[0] == status
    assert sentence in answered[1]
    assert page.store.journal.entries(limit=1) == before


@pytest.mark.parametrize(
    "body",
    [b"[1]", b"nothing", b'{"query": NaN}', b"\xff", b"[" * 100_000, b'{"limit": 1' + b"0" * 9999],
)
async def test_a_body_that_is_no_object_is_refused(page: PageServer, body: bytes) -> None:
    answer = await Browser(page.app).client.post(
        "/api/search", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert "the body" in answer.json()["error"]["message"]


async def test_a_lone_surrogate_in_an_argument_is_refused_or_matches_nothing(
    page: PageServer,
) -> None:
    answer = await Browser(page.app).client.post(
        "/api/get",
        content=b'{"memory_id": "\\ud800"}',
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]


async def test_no_answer_is_longer_than_its_size_and_all_can_be_read(page: PageServer) -> None:
    text = "".join(f"{number} зима \u0001 " for number in range(60_000))
    page.store.remember(text, id="long")
    for number in range(30):
        page.store.remember(f"winter {number} {'я' * 20_000}", tags=[f"t{number}"])
    browser = Browser(page.app)
    read, start = "", 0
    while start is not None:
        answer = await browser.ask("get", memory_id="long", **{"from": start})
        assert len(answer.content) <= MAX_BYTES
        value = answer.json()
        assert value["value"]["cut"] == {"text": len(text)}
        read += value["value"]["text"]
        start = value.get("next")
    assert read == text
    found = await browser.ask("search", query="winter", limit=100)
    assert len(found.content) <= MAX_BYTES
    hits = found.json()["value"]["hits"]
    assert len(hits) == 30
    assert all(len(hit["text"]) < hit["cut"]["text"] for hit in hits)


async def test_whoever_asks_for_a_whole_text_gets_it_in_large_pieces(page: PageServer) -> None:
    text = "é" * 500_000
    page.store.remember(text, id="long")
    browser = Browser(page.app)
    whole = (await browser.ask("get", memory_id="long", whole=True)).json()
    assert (whole["value"]["text"], "next" in whole) == (text, False)
    rest = await browser.ask("get", memory_id="long", whole=True, **{"from": 499_999})
    assert rest.json()["value"]["text"] == "é"
    # It is for a text alone.
    assert (await browser.fail("browse", limit=5, whole=True))[0] == 400


async def test_a_graph_with_very_long_texts_is_sent_in_its_size(page: PageServer) -> None:
    for number in range(3):
        page.store.remember(f"{number} " + "ship after ship " * 60_000, id=f"log-{number}")
    answer = await Browser(page.app).ask("graph.export", statuses=["current"])
    assert (answer.status_code, len(answer.content) <= MAX_BYTES) == (200, True)
    assert {node["id"] for node in answer.json()["value"]["nodes"]} == {"log-0", "log-1", "log-2"}


async def test_a_list_is_read_in_pages(page: PageServer) -> None:
    names = {f"scope-{number:04}-{'x' * 100}" for number in range(5000)}
    for name in sorted(names):
        page.store.scopes.create(name)
    browser = Browser(page.app)
    listed, start = set(), 0
    while start is not None:
        answer = await browser.ask("scopes", **{"from": start})
        assert len(answer.content) <= MAX_BYTES
        listed |= {scope["name"] for scope in answer.json()["value"]}
        start = answer.json().get("next")
    assert listed == names | {"Global"}


async def test_a_mapping_is_read_in_pages(page: PageServer) -> None:
    for number in range(3000):
        page.store.remember(f"note {number}", scope=f"{number:04}-{'y' * 90}", similar=False)
    browser = Browser(page.app)
    counted: dict[str, int] = {}
    start = 0
    while start is not None:
        answer = await browser.ask("scopes.count_memories", **{"from": start})
        assert len(answer.content) <= MAX_BYTES
        counted |= answer.json()["value"]
        start = answer.json().get("next")
    assert counted == page.store.scopes.count_memories()
    stats = await browser.ask("stats")
    assert len(stats.content) <= MAX_BYTES
    assert stats.json()["value"]["cut"]["by_scope"] == 3001


async def test_a_key_may_what_its_rights_say_and_sees_its_scopes_alone(page: PageServer) -> None:
    page.store.remember("a secret", id="out", scope="home")
    page.store.remember("a task", id="in", scope="work")
    order = ("read", "write", "admin")
    for right in order:
        browser = page.show(right, scopes=["work"])
        session = await browser.call("session")
        assert session["name"] == f"{right}-work"
        assert session["read_only"] is (right == "read")
        held = {name for name, needed in METHODS.items() if needed in session["rights"]}
        assert set(session["methods"]) == held
        assert session["rights"] == list(order[: order.index(right) + 1])
        for name in METHODS.keys() - held:
            answer = await browser.ask(name)
            if name == "import":
                answer = await upload(browser, b"x", "?name=a.txt")
            assert answer.status_code == 403, name
            assert METHODS[name] in answer.json()["error"]["message"]
        assert (await browser.fail("get", memory_id="out"))[0] == 404
        assert [scope["name"] for scope in await browser.call("scopes")] == ["work"]
        assert "home" not in json.dumps(await browser.call("stats"))
        assert len(await browser.call("journal.entries")) == len(
            await browser.call("journal.entries", memory_id="in")
        )
    everything = await page.show("admin").call("session")
    assert OWNER not in everything["rights"]


async def test_the_position_is_the_newest_entry_that_a_key_sees(page: PageServer) -> None:
    page.store.remember("a task", scope="work")
    browser, owner = page.show("write", scopes=["work"]), await page.sign_in()
    assert await browser.call("position") == 1
    for number in range(3):
        page.store.remember(f"a secret {number}", scope="home")
        assert await browser.call("position") == 1
        assert await owner.call("position") == page.store.journal.entries(limit=1)[0].number
    mine = (await browser.ask("remember", text="another", scope="work")).json()["entry"]
    assert await browser.call("position") == mine


async def test_a_key_that_writes_takes_back_only_what_it_did(page: PageServer) -> None:
    page.store.remember("of somebody", id="other", scope="work")
    theirs = page.store.journal.entries(limit=1)[0].number
    browser = page.show("write", scopes=["work"])
    status, message = await browser.fail("undo", entry=theirs)
    assert (status, "another client" in message) == (403, True)
    assert (await browser.fail("conversations.undo", session="theirs"))[0] == 403
    mine = (await browser.ask("remember", text="of the key", scope="work")).json()["entry"]
    await browser.call("undo", entry=mine)
    assert (await page.show("admin", scopes=["work"]).ask("undo", entry=theirs)).status_code == 200


def test_a_closed_store_is_not_kept_in_memory(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        read_arguments(store.search, {"query": "x"})
        read_arguments(store.graph.related, {"ids": ["x"]})
        kept = weakref.ref(store.graph)
    del store
    gc.collect()
    assert kept() is None


async def test_an_admin_key_for_every_scope_manages_keys_and_no_other_does(
    page: PageServer,
) -> None:
    admin = page.show("admin")
    made = await admin.call("keys.create", name="anna", shared=["team"], max_memories=1)
    assert made["key"]["scopes"] == ["people/anna", "team"]
    assert made["key"]["created_by"] == "admin-*"
    entry = page.store.journal.entries(limit=1)[0].action
    assert (entry.actor.client, entry.access_key) == ("admin-*", made["key"]["id"])
    anna = Browser(page.app, made["secret"])
    await anna.call("remember", text="the only note")
    assert "may keep 1 memories" in (await anna.fail("remember", text="another note"))[1]
    assert (await anna.fail("remember", text="another note"))[0] == 403
    [usage] = await admin.call("keys.usage")
    assert (usage["name"], usage["kept"]["memories"]) == ("anna", 1)
    await admin.call("keys.limit", name_or_id="anna", max_memories=2)
    await anna.call("remember", text="another note")
    assert [key["name"] for key in await admin.call("keys.list")] == ["admin-*", "anna"]
    await admin.call("keys.revoke", name_or_id="anna")
    assert page.store.keys.list()[1].revoked_at is not None
    for other in (anna, page.show("admin", scopes=["team"]), page.show("write")):
        for method in ("list", "usage"):
            assert (await other.ask(f"keys.{method}")).status_code in (401, 403)
        refused = await other.ask("keys.create", name="more", scopes=["*"])
        assert refused.status_code in (401, 403)
    assert "more" not in {key.name for key in page.store.keys.list()}


async def test_the_owner_manages_keys_and_brings_them_back(page: PageServer) -> None:
    owner = await page.sign_in()
    made = await owner.call("keys.create", name="phone", rights=["read"], scopes=["work"])
    assert made["secret"].startswith("im_")
    assert [key["name"] for key in await owner.call("keys.list")] == ["phone"]
    admin = page.show("admin")
    await owner.call("keys.revoke", name_or_id="phone")
    assert page.store.keys.list()[0].revoked_at is not None
    # A backup brings keys in, too.
    await owner.call("backups.create")
    [backup] = await admin.call("backups.list")
    asked = {"file": Path(backup["path"]).name, "mode": "overwrite"}
    assert (await admin.fail("backups.restore", **asked, with_keys=True))[0] == 403
    assert (await admin.ask("backups.restore", **asked)).status_code == 200
    assert page.store.keys.list()[0].revoked_at is not None
    assert (await owner.ask("backups.restore", **asked, with_keys=True)).status_code == 200


async def test_a_server_that_only_reads_changes_nothing_through_its_page(
    store: MemoryStore,
) -> None:
    store.remember("a note", id="a")
    async with PageServer.of(store, tool_filter=ToolFilter(read_only=True)) as page:
        for browser in (Browser(page.app), await page.sign_in(), None):
            browser = browser or page.show("admin")
            assert (await browser.call("session"))["rights"] == ["read"]
            assert (await browser.fail("forget", memory_id="a"))[0] == 403


async def test_a_server_without_some_tools_has_no_page(store: MemoryStore) -> None:
    for tool_filter in (ToolFilter(only=("retrieve_memory",)), ToolFilter(excluded=("undo",))):
        async with PageServer.of(store, tool_filter=tool_filter) as page:
            for path in ("/", "/api/search", "/sign-in"):
                assert (await Browser(page.app).post(path)).status_code == 404


async def test_a_confined_server_has_no_owner(store: MemoryStore) -> None:
    store.remember("a secret", id="out", scope="home")
    async with PageServer.of(store, scopes=["work"]) as page:
        owner = await page.sign_in()
        assert OWNER not in (await owner.call("session"))["rights"]
        assert (await owner.fail("get", memory_id="out"))[0] == 404


async def test_calls_count_in_the_metrics_and_in_the_limit(store: MemoryStore) -> None:
    async with PageServer.of(store) as page:
        owner = await page.sign_in()
        await owner.call("search", query="x")
        await owner.fail("get", memory_id="nobody")
        rendered = (await page.show("admin").client.get("/metrics")).text
    assert 'tool="page.search"' in rendered
    assert 'tool="page.get"' in rendered


async def test_too_many_calls_are_refused(open_store: Any) -> None:
    store = open_store(limits={"calls_per_minute": 2})
    async with PageServer.of(store) as page:
        browser = Browser(page.app)
        answers = [await browser.ask("position") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "within a minute" in answers[2].json()["error"]["message"]


async def test_a_dropped_file_is_imported_after_a_dry_run(page: PageServer) -> None:
    browser = Browser(page.app)
    content = json.dumps([{"text": "The kiln is hot", "id": "kiln"}]).encode()
    tried = (await upload(browser, content, "?name=notes.json&dry_run=true")).json()
    assert (tried["value"]["added"], tried["value"]["path"]) == (1, "notes.json")
    assert "entry" not in tried
    done = (await upload(browser, content, "?name=../../notes.json&scope=pots")).json()
    assert done["value"]["added"] == 1
    assert page.store.get("kiln").scope == "pots"
    assert done["entry"] in done["value"]["entries"]
    assert (await upload(browser, b"\0", "?name=a.bin")).status_code in (400, 422)
    for query in ("", "?name=..", "?name=a.json&dry_run=maybe", "?name=a.json&path=/etc/passwd"):
        assert (await upload(browser, content, query)).status_code == 400, query
    refused = await upload(browser, content, "?name=a.json", **{"content-type": "text/plain"})
    assert refused.status_code == 415


async def test_nothing_of_an_import_stays_in_the_temporary_folder(
    page: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    browser = Browser(page.app)
    await upload(browser, b'[{"text": "x"}]', "?name=a.json")
    await upload(browser, b"{", "?name=a.json")
    monkeypatch.setattr("infinite_memory_mcp.web.page._MAX_FILE_BYTES", 3)
    assert (await upload(browser, b"12345", "?name=a.json")).status_code == 413
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"\0", b"{", b'[{"text": "x"}, {"no": 1}]', b"PK\5\6" + bytes(18)]
)
async def test_what_is_wrong_with_a_file_is_said_of_the_name_that_it_was_dropped_by(
    page: PageServer, content: bytes
) -> None:
    browser = Browser(page.app)
    for name in ("a.bin", "a.json", "a.zip"):
        for rest in ("", "&on_error=stop", "&format=mem0"):
            said = (await upload(browser, content, f"?name={name}{rest}")).text
            assert name in said
            assert "infinite-memory-" not in said
            assert "--from" not in said
            assert "--strict" not in said


async def test_two_files_come_at_once_and_none_that_says_that_it_is_too_long(
    page: PageServer,
) -> None:
    browser, may_end, statuses = Browser(page.app), anyio.Event(), []

    async def send_slowly() -> AsyncIterator[bytes]:
        yield b"["
        await may_end.wait()
        yield b'{"text": "x"}]'

    async def send() -> None:
        answer = await browser.client.post(
            "/api/import?name=a.json", content=send_slowly(), headers=BYTES
        )
        statuses.append(answer.status_code)

    too_long = {"content-length": str((1 << 30) + 1)}
    assert (await upload(browser, b"[", "?name=a.json", **too_long)).status_code == 413
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        tasks.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        assert (await upload(browser, b"[]", "?name=b.json")).status_code == 429
        may_end.set()
    assert statuses == [200, 200]
    assert (await upload(browser, b"{", "?name=a.json")).status_code != 429


async def test_what_a_program_stores_with_its_key_is_not_of_the_user(page: PageServer) -> None:
    program, person = page.show("write"), Browser(page.app)
    secret = program.client.headers["x-memory-key"]
    assert (await person.sign_in(key=secret)).status_code == 200
    made = [
        (await each.call("remember", text=text))["id"]
        for each, text in ((program, "The kiln is hot"), (person, "The kiln is cold"))
    ]
    assert [str(page.store.get(each).origin) for each in made] == ["assistant", "user"]
    await program.call("revise", memory_id=made[1], revision=1, tags=["kiln"])
    assert str(page.store.get(made[1]).origin) == "user"
    await program.call("revise", memory_id=made[1], revision=2, text="The kiln is warm")
    assert str(page.store.get(made[1]).origin) == "assistant"
    await program.call("profile.update", changes={"name": "Ada"})
    (newest,) = page.store.browse(limit=1).memories
    assert (newest.text, str(newest.origin)) == ("Name of user: Ada", "assistant")
    for method, rest in (
        ("remember", {"text": "x"}),
        ("revise", {"memory_id": made[0], "revision": 1}),
        ("profile.update", {"changes": {"name": "Eve"}}),
    ):
        status, sentence = await program.fail(method, origin="user", **rest)
        assert (status, "a person who signed in" in sentence) == (403, True)


async def test_remember_offers_no_status(page: PageServer) -> None:
    status, sentence = await Browser(page.app).fail("remember", text="x", status="forgotten")
    assert status == 400
    assert "there is no argument 'status'" in sentence


async def test_a_changed_file_is_a_newer_version_of_the_one_of_its_name_unless_it_is_another(
    page: PageServer,
) -> None:
    browser = Browser(page.app)

    async def bring_in(text: str, query: str = "") -> tuple[int, int]:
        answer = await upload(browser, text.encode(), f"?name=notes.txt{query}")
        value = answer.json()["value"]
        return value["added"], value["changed"]

    assert await bring_in("The red boat leaks.") == (1, 0)
    assert await bring_in("The red boat is mended.", "&dry_run=true") == (0, 1)
    assert await bring_in("The red boat is mended.", "&dry_run=true&newer=false") == (1, 0)
    assert await bring_in("The red boat is mended.") == (0, 1)
    assert await bring_in("The plum tree blooms.", "&newer=false") == (1, 0)
    texts = {memory.text for memory in page.store.browse(limit=10).memories}
    assert texts == {"The red boat is mended.", "The plum tree blooms."}
    assert (await upload(browser, b"x", "?name=a.txt&known_as=x")).status_code == 400
    assert (await upload(browser, b"x", "?name=a.txt&newer=maybe")).status_code == 400
