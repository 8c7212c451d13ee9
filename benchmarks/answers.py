"""Check that answers fit: `python -m benchmarks.answers --stores 1000`.

Each store has texts of 1 to 10^6 characters, one with a planted sentence. Every reading tool is
called in a server in this process. An answer may not exceed its budget, and must have the planted
sentence wherever the search returned its memory. Vectors are not the point, so an embedder that
hashes words stands in for the model.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from typing import Any

import anyio
from attrs import define, field
from mcp import Client

from infinite_memory import MemoryStore
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.budget import estimate_data
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS

_WORDS = "river lamp quiet stone window paper garden silver market bridge yellow kitchen".split()
_CHINESE = "山水花草木石金銀書畫日月星雲風雨春夏秋冬"
_TAG = "shelf"


@define
class Tally:
    """The number of answers that were checked, and what was wrong with them."""

    answers: int = 0
    found: int = 0
    largest: int = 0
    faults: list[str] = field(factory=list)


def check_store(seed: int, tally: Tally, *, max_chars: int = 10**6) -> None:
    """Fill a store from `seed`, ask every reading tool, and add the result to `tally`."""
    chance = random.Random(seed)
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        secret = f"The vault combination is {chance.randrange(1000, 9999)}."
        texts = [_text(chance, max_chars) for _ in range(chance.randrange(1, 24))]
        planted = chance.randrange(len(texts))
        cut = chance.randrange(len(texts[planted]) + 1)
        texts[planted] = f"{texts[planted][:cut]}\n{secret}\n{texts[planted][cut:]}"[: 10**6 + 40]
        receipts = [store.remember(text, tags=[_TAG], similar=False) for text in texts]
        structured = chance.random() < 0.5
        with LazyStore(lambda: store, quiet_seconds=600) as memory:
            server = build_server(memory, ALL_TOOLSETS, structured=structured)
            anyio.run(_ask, server, tally, seed, secret, receipts[planted].id)


async def _ask(server: Any, tally: Tally, seed: int, secret: str, memory_id: str) -> None:
    budget = random.Random(seed).choice((1000, 6000, 6000, 20_000))
    async with Client(server) as client:
        for tool, arguments in _calls(memory_id):
            if "max_tokens" in arguments:
                arguments = {**arguments, "max_tokens": budget}
            result = await client.call_tool(tool, arguments)
            limit = arguments.get("max_tokens", 6000)
            text = result.content[0].text
            size = estimate_tokens(text)
            tally.answers += 1
            tally.largest = max(tally.largest, size)
            if size > limit:
                tally.faults.append(f"store {seed}: {tool} {arguments}: {size} tokens of {limit}")
            data = result.structured_content
            if data is not None and estimate_data(data) > limit:
                tally.faults.append(f"store {seed}: {tool}: {estimate_data(data)} as data")
            if "vault" in arguments.get("query", "") and memory_id[-8:] in text:
                tally.found += 1
                if secret not in text or (data is not None and secret not in str(data)):
                    tally.faults.append(f"store {seed}: {tool}: without the planted sentence")


def _calls(memory_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    query = {"query": "what is the vault combination", "max_tokens": 0}
    yield "retrieve_memory", query
    yield "retrieve_memory", {**query, "limit": 100, "explain": True}
    yield "retrieve_memory", {**query, "depth": "overview"}
    yield "recall_memory", query
    yield "search_by_tag", {**query, "tags": [_TAG]}
    yield "search_by_scope", {**query, "scope": "Global"}
    yield "retrieve_memory", {"depth": "exhaustive", "query": "river", "max_tokens": 0}
    yield "retrieve_memory", {"ids": [memory_id], "max_tokens": 0}
    yield "recall_memory_by_time", {"when": "always", "limit": 100, "max_tokens": 0}
    yield "search_by_tag", {"tags": [_TAG], "limit": 100, "max_tokens": 0}
    yield "search_by_scope", {"scope": "Global", "max_tokens": 0}
    yield "store_memory", {"text": "The vault is in the cellar."}
    yield "update_memory", {"id": memory_id, "title": "Vault"}
    yield "memory_history", {"id_or_key": memory_id}
    yield "memory_log", {"limit": 100}
    yield "get_memory_stats", {}
    yield "list_memory_scopes", {}
    yield "undo", {"dry_run": True}
    yield "delete_memory", {"id": memory_id}


def _text(chance: random.Random, max_chars: int) -> str:
    # As many short texts as long ones, by powers of ten.
    length = int(10 ** chance.uniform(0, len(str(max_chars)) - 1))
    kind = chance.randrange(4)
    if kind == 0:
        # A character takes three bytes, and a text is at most a mebibyte long.
        length = min(length, 340_000)
        repeated = "".join(chance.choices(_CHINESE, k=min(length, 997)))
        return (repeated * (length // len(repeated) + 1))[:length]
    if kind == 1:
        return "x" * length
    words = []
    for _ in range(min(length // 6 + 1, 2000)):
        end = ". " if chance.random() < 0.1 else " "
        words.append(chance.choice(_WORDS) + end)
    joined = "".join(words)
    return (joined * (length // len(joined) + 1))[:length].strip() or "a"


def main() -> None:
    """Check as many stores as asked for, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    tally, begin = Tally(), time.monotonic()
    for seed in range(options.first, options.first + options.stores):
        check_store(seed, tally)
    for fault in tally.faults[:20]:
        print(fault)
    print(
        f"{options.stores} stores, {tally.answers:,} answers, largest {tally.largest:,} tokens;"
        f" {tally.found:,} answers with the planted memory; {len(tally.faults)} faults;"
        f" {time.monotonic() - begin:.0f} s"
    )


if __name__ == "__main__":
    main()
