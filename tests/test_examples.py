"""The example programs in docs/examples do what they say, those of a framework in the framework."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from infinite_memory import AsyncMemoryStore, Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
ADAPTERS = ("langgraph_store", "openai_agents_session")


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def memory() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        yield store


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_short(name: str) -> None:
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    assert sum(map(bool, lines)) <= 80  # those that are not empty


def test_the_chat_recalls_what_another_conversation_said(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example, told = load("chat_loop"), []

    def answer(messages: list[dict[str, str]]) -> str:
        told.append(messages)
        return f"Answer {len(told)}"

    def talk(conversation_id: str, *lines: str) -> None:
        said = iter([*lines, ""])
        monkeypatch.setattr("builtins.input", lambda _: next(said))
        example.chat(memory, conversation_id, answer)

    talk("monday", "My sister Nadia lives in Trieste", "Thanks")
    talk("tuesday", "Where does my sister Nadia live?")
    assert capsys.readouterr().out.split() == ["Answer", "1", "Answer", "2", "Answer", "3"]
    assert [message["role"] for message in told[1]] == ["system", "user", "assistant", "user"]
    assert "My sister Nadia lives in Trieste" in told[2][0]["content"]
    log = memory.conversations.read("monday").messages
    assert [message.text for message in log][::2] == ["My sister Nadia lives in Trieste", "Thanks"]
    assert "lives in Trieste" in example.repeat(told[2])


def test_the_service_stores_finds_and_forgets(tmp_path: Path, monkeypatch: Any) -> None:
    from fastapi.testclient import TestClient

    real = AsyncMemoryStore.open
    config = Config(home=tmp_path)
    monkeypatch.setattr(
        AsyncMemoryStore, "open", lambda: real(config=config, embedder=HashingEmbedder())
    )
    with TestClient(load("fastapi_service").app, headers={"x-user": "Anna"}) as client:
        note = {"text": "The pump was replaced", "happened_at": "yesterday"}
        stored = client.post("/notes", json=note)
        assert stored.status_code == 201
        found = client.get("/notes", params={"query": "was the pump replaced?"}).json()
        assert [hit["text"] for hit in found] == ["The pump was replaced"]
        refused = client.post("/notes", json={**note, "happened_at": "a cup of tea"})
        assert refused.status_code == 422
        assert "the time 'a cup of tea' cannot be read" in refused.json()["detail"]
        for query in ({"query": ""}, {"query": "the pump", "limit": 0}):
            assert client.get("/notes", params=query).status_code == 422
        for other in ("anna", "*"):
            asked = {"params": {"query": "was the pump replaced?"}, "headers": {"x-user": other}}
            assert client.get("/notes", **asked).json() == []
        address = f"/notes/{stored.json()['id']}"
        statuses = [
            client.delete(path).status_code for path in (address, "/notes/no", "/notes/a%0Ab")
        ]
        assert statuses == [204, 404, 422]
        assert client.get("/notes", params={"query": "was the pump replaced?"}).json() == []


def test_the_cells_of_the_notebook_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("Anna's birthday is January 20")
    assert lines[-3:] == [
        "The mooring costs 260 euros a year",
        "['The mooring costs 240 euros a year', 'The mooring costs 260 euros a year']",
        "The mooring costs 240 euros a year",
    ]


@pytest.mark.thorough
def test_the_notebook_runs_in_a_kernel() -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    ]
    assert outputs[-1] == "The mooring costs 240 euros a year\n"


def test_an_agent_of_langgraph_keeps_items_in_the_memory(memory: MemoryStore) -> None:
    pytest.importorskip("langgraph.store.base")
    store, anna = load("langgraph_store").LangGraphStore(memory), ("users", "anna")
    store.put(anna, "tea", {"text": "Anna drinks green tea", "cups": 2})
    store.put(anna, "dog", {"text": "Rex is the dog of Anna"})
    store.put(("users", "bob", "notes"), "boat", {"text": "Bob has a boat"})
    memory.remember("Green tea is out of this", scope="Global")
    item = store.get(anna, "tea")
    assert (item.namespace, item.key, item.value["cups"]) == (anna, "tea", 2)
    found = store.search(("users",), query="who drinks green tea?", limit=1)
    assert [(hit.namespace, hit.key) for hit in found] == [(anna, "tea")]
    assert {hit.key for hit in store.search(())} == {"tea", "dog", "boat"}
    assert [hit.key for hit in store.search(("users",), filter={"cups": 2})] == ["tea"]
    store.put(anna, "tea", {"text": "Anna drinks coffee"})
    assert store.get(anna, "tea").value == {"text": "Anna drinks coffee"}
    store.delete(anna, "tea")
    assert store.get(anna, "tea") is None
    store.put(anna, "tea", {"text": "Anna drinks tea again"})
    assert asyncio.run(store.aget(anna, "tea")).value["text"] == "Anna drinks tea again"
    assert store.list_namespaces() == [anna, ("users", "bob", "notes")]
    assert store.list_namespaces(suffix=("notes",), max_depth=1) == [("users",)]
    assert (store.search(("nobody",), query="tea"), store.get(("nobody",), "x")) == ([], None)
    memory.undo()
    assert store.get(anna, "tea") is None
    namespaces = [("Users", "anna"), ("a/b", "*"), ("a", "b", "*"), ("名字", "é%2f")]
    for namespace in namespaces:
        store.put(namespace, "own", {"text": "Only here"})
        assert [hit.namespace for hit in store.search(namespace)] == [namespace]
    assert set(namespaces) <= set(store.list_namespaces())
    large = {"text": "A long story. " * 10_000}
    store.put(anna, "story", large)
    assert store.get(anna, "story").value == large
    with pytest.raises(NotImplementedError, match="equality"):
        store.search(anna, filter={"cups": {"$gt": 1}})


def test_a_graph_of_langgraph_gets_the_store(memory: MemoryStore) -> None:
    graph = pytest.importorskip("langgraph.graph")
    base: Any = pytest.importorskip("langgraph.store.base")

    def answer(state: dict[str, str], *, store: Any) -> dict[str, str]:
        store.put(("users", "eve"), "cats", {"text": "Eve likes cats"})
        return {"answer": store.search(("users",), query=state["question"])[0].value["text"]}

    answer.__annotations__["store"] = base.BaseStore
    builder = graph.StateGraph(dict)
    builder.add_node("answer", answer)
    builder.add_edge(graph.START, "answer")
    compiled = builder.compile(store=load("langgraph_store").LangGraphStore(memory))
    assert compiled.invoke({"question": "what does Eve like?"})["answer"] == "Eve likes cats"


def test_a_session_of_the_agents_sdk_goes_on_in_another_run() -> None:
    agents: Any = pytest.importorskip("agents")
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Scripted(agents.Model):  # type: ignore[misc]
        seen: list[Any]

        async def get_response(self, **given: Any) -> Any:
            self.seen = given["input"]
            text = ResponseOutputText(text="Ahoy", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", role="assistant", type="message", status="completed", content=[text]
            )
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        def stream_response(self, *args: Any, **rest: Any) -> Any:
            raise NotImplementedError

    async def talk() -> None:
        model = Scripted()
        agent = agents.Agent(name="A", model=model)
        agents.set_tracing_disabled(True)
        make = load("openai_agents_session").MemorySession
        async with AsyncMemoryStore.open("memory://", embedder=HashingEmbedder()) as memory:
            assert isinstance(make("one", memory), agents.memory.Session)
            for said in ("The boat is called Wanda", "What is she called?"):
                await agents.Runner.run(agent, said, session=make("one", memory))
            assert [item["role"] for item in model.seen] == ["user", "assistant", "user"]
            session, other = make("one", memory), make("two", memory)
            items = await session.get_items()
            assert [item["role"] for item in items] == ["user", "assistant"] * 2
            assert await session.get_items(limit=2) == items[-2:]
            assert await other.get_items() == await session.get_items(limit=0) == []
            hits = await memory.search("what is the boat called?")
            assert hits[0].memory.text == "The boat is called Wanda"
            assert await session.pop_item() == items[-1]
            await session.add_items([{"type": "function_call", "name": "f", "arguments": "{}"}])
            assert [i.get("type") for i in (await session.get_items())[-1:]] == ["function_call"]
            added = [
                {"role": "user", "content": " A long story. " * 10_000},
                {"type": "function_call_output", "output": "a page " * 20_000},
                {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]},
                {"role": "user", "content": ""},
            ]
            await session.add_items(added)
            assert await session.get_items(limit=4) == added
            await session.clear_session()
            await session.clear_session()
            assert (await session.get_items(), await session.pop_item()) == ([], None)

    asyncio.run(talk())
