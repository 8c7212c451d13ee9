"""The tools that look at the server itself: its health, its metrics, and every record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from infinite_memory.core.observe.recorder import Series
from infinite_memory.core.observe.timings import Timing
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.search.text.quotation import escape_line, quote_label
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.observe.requests import tool_recorder
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.overview import NoArguments

if TYPE_CHECKING:
    from infinite_memory.core.observe.recorder import CacheUse
    from infinite_memory.core.values.verification import Verification
    from infinite_memory.engine.health import Health
    from infinite_memory.store.memory_store import MemoryStore

_MAX_FINDINGS = 20


@tool("Check the health", object_schema("status", "findings"), reads=True)
def health_check(store: MemoryStore, _arguments: NoArguments) -> Answer:
    """Check whether the memory works: storage, disk, index, model, waiting work, clients."""
    health = store.health()
    return Answer(text="\n".join(_describe_health(health)), data=health.to_dict())


@tool("Show metrics", object_schema("since", "tools", "operations"), reads=True)
def get_metrics(store: MemoryStore, _arguments: NoArguments) -> Answer:
    """Show how often tools were called, how long they took, and their errors."""
    metrics, recorder = store.metrics(), tool_recorder()
    tools = {} if recorder is None else recorder.timings(Series.TOOLS)
    caches = {} if recorder is None else recorder.caches()
    lines = [
        f"since {iso(metrics.since)}; durations in milliseconds",
        *_describe_timings("tool", tools),
        *_describe_timings("method", metrics.operations),
        *_describe_timings("arm of the search", metrics.arms),
        *_describe_timings("conditions in", metrics.triggers),
        *_describe_caches({**metrics.caches, **caches}),
    ]
    plain_tools = {name: timing.to_dict() for name, timing in tools.items()}
    return Answer(text="\n".join(lines), data={**metrics.to_dict(), "tools": plain_tools})


@tool("Verify every record", object_schema("sound", "counts"), reads=True)
def verify_memory(store: MemoryStore, _arguments: NoArguments) -> Answer:
    """Check every record, its history and vectors, and the index; this may take minutes."""
    verified = store.verify()
    return Answer(text="\n".join(_describe_verification(verified)), data=verified.to_dict())


def _describe_health(health: Health) -> Iterator[str]:
    yield f"status: {health.status}"
    for finding in health.findings:
        yield f"{finding.about}: {finding.state}: {escape_line(finding.sentence)}"
    if health.size_bytes is not None:
        yield f"size: {format_size(health.size_bytes)}"
    # One client may have several handles.
    names = ", ".join(dict.fromkeys(quote_label(actor.client) for actor in health.clients))
    yield f"clients in this process: {names}"
    yield f"background worker: {'none' if health.worker is None else quote_label(health.worker)}"
    yield f"last backup: {iso(health.last_backup) or 'none yet'}"


def _describe_timings(noun: str, timings: Mapping[str, Timing]) -> Iterator[str]:
    for name, timing in timings.items():
        errors = ", ".join(f"{kind} {number}" for kind, number in timing.errors.items())
        yield (
            f"{noun} {name}: {format_count(timing.calls, 'call')}, p50 {timing.p50_ms:.1f},"
            f" p95 {timing.p95_ms:.1f}, p99 {timing.p99_ms:.1f}"
            f"{f', errors: {errors}' if errors else ''}"
        )


def _describe_caches(caches: Mapping[str, CacheUse]) -> Iterator[str]:
    for name, use in caches.items():
        yield f"cache of {name}: {use.hits} of {use.hits + use.misses} found"


def _describe_verification(verified: Verification) -> Iterator[str]:
    counts = ", ".join(f"{name} {number}" for name, number in verified.counts.items())
    yield f"checked: {counts or 'nothing'}"
    if verified.sound:
        yield "No damage was found."
    for finding in verified.findings[:_MAX_FINDINGS]:
        name = "" if finding.id is None else f" {quote_label(finding.id)}"
        yield f"{finding.part}{name}: {escape_line(finding.what)}; {escape_line(finding.way_out)}"
    more = len(verified.findings) - _MAX_FINDINGS
    if more > 0:
        yield f"and {format_count(more, 'more finding')}"


HEALTH = (health_check, get_metrics, verify_memory)
"""The tools of the operator."""
