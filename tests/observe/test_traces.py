"""Spans, made by the real SDK of OpenTelemetry, in a process that has imported it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_PROGRAM = """
import asyncio, json
from mcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from infinite_memory import AsyncMemoryStore, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server

async def main():
    open_store = lambda: MemoryStore.open("memory://", embedder=HashingEmbedder())
    with LazyStore(open_store, quiet_seconds=600) as memory:
        async with Client(build_server(memory)) as client:
            await client.call_tool("store_memory", {"text": "zzmark of a text", "tags": ["zzmark"]})
            await client.call_tool("retrieve_memory", {"query": "zzmark of a question"})
            await client.call_tool("retrieve_memory", {"ids": ["zzmarkid"]})
    async with AsyncMemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        with trace.get_tracer("of the program").start_as_current_span("program"):
            await store.search("zzmark of a question")

asyncio.run(main())
spans = exporter.get_finished_spans()
names = {span.context.span_id: span.name for span in spans}
print(json.dumps([
    {
        "name": span.name,
        "parent": None if span.parent is None else names.get(span.parent.span_id),
        "text": span.to_json(),
        "error": span.attributes.get("error.type"),
    }
    for span in spans
]))
"""


@pytest.mark.thorough
def test_spans_of_tools_calls_and_arms_are_nested_and_hold_no_texts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True
    )
    spans = json.loads(done.stdout.splitlines()[-1])
    parents = {(span["name"], span["parent"]) for span in spans}
    assert {
        ("infinite_memory.remember", "tools/call store_memory"),
        ("infinite_memory.search", "tools/call retrieve_memory"),
        ("infinite_memory.search.words", "infinite_memory.search"),
        ("infinite_memory.search.meaning", "infinite_memory.search"),
        ("infinite_memory.search", "program"),
    } <= parents
    errors = {span["name"]: span["error"] for span in spans if span["error"]}
    assert errors["infinite_memory.get"] == "NotFound"
    assert errors["tools/call retrieve_memory"] == "tool_error"
    assert "zzmark" not in "".join(span["text"] for span in spans)


@pytest.mark.thorough
def test_a_program_that_makes_no_traces_loads_no_sdk() -> None:
    program = (
        "import sys\nfrom infinite_memory import MemoryStore\n"
        "from infinite_memory.testing.embedders import HashingEmbedder\n"
        "store = MemoryStore.open('memory://', embedder=HashingEmbedder())\n"
        "store.remember('a note'); store.search('note')\n"
        "print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"
