"""The page of metrics: who may read it, and that Prometheus's own parser understands it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import HttpServer, call_body
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse

from infinite_memory import MemoryStore, StorageUnavailable
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.call_rates import KeyRates
from infinite_memory_mcp.http.metrics import MetricsPage
from infinite_memory_mcp.http.responses import Refusal
from infinite_memory_mcp.lazy_store import LazyStore

OPEN = "application/openmetrics-text; version=1.0.0"
PAGE = "/metrics"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("metrics") / "home") as started:
        yield started


def samples(text: str, parser=parse) -> dict[tuple[str, tuple[str, ...]], float]:  # type: ignore[no-untyped-def]
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in parser(text)
        for sample in family.samples
    }


def test_without_keys_programs_of_this_machine_read_what_was_called(server: HttpServer) -> None:
    server.ask(call_body("store_memory", text="The ferry leaves at ten"))
    server.ask(call_body("retrieve_memory", query="ferry"))
    server.ask(call_body("retrieve_memory", ids=["nobody-here"]))
    answer = server.ask(path=PAGE)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = samples(answer.body.decode())
    tool = "infinite_memory_tool_duration_seconds"
    assert found[f"{tool}_count", ("retrieve_memory",)] == 2
    assert found[f"{tool}_count", ("store_memory",)] == 1
    assert found[f"{tool}_bucket", ("+Inf", "retrieve_memory")] == 2
    assert found["infinite_memory_tool_errors_total", ("NotFound", "retrieve_memory")] == 1
    assert found["infinite_memory_operation_duration_seconds_count", ("search",)] == 1
    assert found["infinite_memory_arm_duration_seconds_count", ("words",)] == 1
    assert found["infinite_memory_cache_misses_total", ("questions",)] >= 1
    assert found["infinite_memory_up", ()] == 1
    assert found["infinite_memory_memories", ()] == 1
    assert found["infinite_memory_embeddings_pending", ()] == 0
    if sys.platform == "linux":
        assert found["process_resident_memory_bytes", ()] > 1_000_000


def test_a_reader_of_openmetrics_gets_it(server: HttpServer) -> None:
    answer = server.ask(path=PAGE, headers={"accept": OPEN})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert samples(answer.body.decode(), parse_open)["infinite_memory_up", ()] == 1


def test_buckets_are_cumulative_and_end_with_the_count(server: HttpServer) -> None:
    server.ask(call_body("list_memory_scopes"))
    families = {family.name: family for family in parse(server.ask(path=PAGE).body.decode())}
    buckets = [
        sample.value
        for sample in families["infinite_memory_tool_duration_seconds"].samples
        if sample.name.endswith("_bucket") and sample.labels["tool"] == "list_memory_scopes"
    ]
    assert buckets == sorted(buckets)
    assert len(buckets) == 22
    assert buckets[-1] >= 1


def test_other_methods_are_refused(server: HttpServer) -> None:
    assert server.ask(b"", path=PAGE).status == 405
    assert server.ask(path=PAGE, headers={"host": "evil.example"}).status == 421


@pytest.mark.thorough
def test_with_keys_only_the_right_admin_for_every_scope_reads_it(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        secrets = {
            right: store.keys.create(right, rights=right, scopes="*").secret
            for right in ("read", "write", "admin")
        }
        secrets["some"] = store.keys.create("some", rights="admin", scopes=["team"]).secret
    with HttpServer(tmp_path) as server:
        assert server.ask(path=PAGE).status == 401
        assert server.ask(path=f"{PAGE}?key=im_nonsense").status == 401
        for right in ("read", "write", "some"):
            refused = server.ask(path=PAGE, headers={"x-memory-key": secrets[right]})
            assert refused.status == 403
            assert "a key with the right admin" in refused.message
        headers = {"authorization": f"Bearer {secrets['admin']}"}
        server.ask(call_body("search_by_tag"), headers=headers)
        answer = server.ask(path=PAGE, headers=headers)
        assert answer.status == 200
        # The calls of every key, and no name of any.
        name = "infinite_memory_tool_duration_seconds_count"
        assert samples(answer.body.decode())[name, ("search_by_tag",)] == 1


@pytest.mark.thorough
def test_a_server_of_some_scopes_has_no_page_that_counts_the_others(tmp_path: Path) -> None:
    with HttpServer(tmp_path, "--scopes", "team") as server:
        refused = server.ask(path=PAGE)
        assert refused.status == 403
        assert "was started with --scopes" in refused.message


def test_without_the_client_of_prometheus_the_page_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with LazyStore(lambda: MemoryStore.open("memory://")) as memory:
        with pytest.raises(Refusal, match=r"pip install '\.\[prometheus\]'") as refused:
            MetricsPage(memory, KeyRates()).render(None)
        assert refused.value.status == 501


def test_the_conditions_of_triggers_are_counted_by_language() -> None:
    with LazyStore(lambda: MemoryStore.open("memory://", embedder=HashingEmbedder())) as memory:
        with memory.call() as store:
            store.triggers.add("rules", "It works", {"any_of": ["ferry"]})
            store.triggers.add("code", "It fails", "context.participants.a.b")
            store.triggers.activate([{"role": "user", "content": "the ferry"}])
        content, _ = MetricsPage(memory, KeyRates()).render(None)
    found = samples(content.decode())
    for language in ("rules", "javascript"):
        assert found["infinite_memory_trigger_duration_seconds_count", (language,)] == 1
    assert found["infinite_memory_trigger_errors_total", ("error", "javascript")] == 1


def test_a_store_that_cannot_be_opened_is_down() -> None:
    def fail() -> MemoryStore:
        raise StorageUnavailable("the server does not answer")

    with LazyStore(fail) as memory:
        content, _ = MetricsPage(memory, KeyRates()).render(None)
    assert samples(content.decode())["infinite_memory_up", ()] == 0
