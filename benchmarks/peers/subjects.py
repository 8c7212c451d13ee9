"""The six products: how each is installed, started, told a memory and asked, as its docs say."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.installing import ROOT, install_npm, install_python
from benchmarks.peers.lines import Program

_WORD = re.compile(r"\w+")


class Subject:
    """A product in a home of its own. `texts` are the texts that were stored, by id."""

    name = ""
    package = ""
    model = "none: by words"
    download = "nothing"
    server = True

    def __init__(self, cache: Path, model: Path) -> None:
        self.folder = self.home = cache / self.name.replace(" ", "-").lower()
        self.texts: dict[str, str] = {}
        self._model = model
        self._program: Program | None = None

    def install(self) -> None:
        """Install the product, and put the model where it looks for it."""
        install_python(self.folder, [self.package])

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home)}

    def start(self) -> list[Any]:
        """Start the program, and return the tools that it lists once it answers."""
        self.home.mkdir(parents=True, exist_ok=True)
        program = Program(self.command(), self.environment(), self.home / "peers.log")
        self._program = program
        if not self.server:
            return []
        program.begin()
        tools: list[Any] = program.request("tools/list", {})["tools"]
        return tools

    @property
    def program(self) -> Program:
        assert self._program is not None, "it was not started"
        return self._program

    def close(self) -> None:
        """End the program as a client does."""
        self.program.close()

    def kill(self) -> None:
        """Kill the program, if it was started."""
        if self._program is not None:
            self._program.kill()

    def call(self, tool: str, /, **arguments: Any) -> str:
        return self.program.call(tool, **arguments)

    def ask(self, tool: str, /, **arguments: Any) -> str:
        """Return what a tool answers; a failure is no answer, and must not count as silence."""
        answer = self.call(tool, **arguments)
        if answer.startswith("Error"):
            raise RuntimeError(f"{self.name} {tool}: {answer[:300]}")
        return answer

    def store(self, key: str, text: str) -> bool:
        """Store a memory, and return whether it was acknowledged."""
        raise NotImplementedError

    def search(self, question: str) -> list[str]:
        """Return the ids of what is shown for a question, in the order shown."""
        raise NotImplementedError

    def holds(self, key: str) -> bool:
        """Return whether a memory that was stored is there, word for word."""
        raise NotImplementedError

    def replace(self, old: str, key: str, text: str) -> bool:
        """Replace a memory in the product's own way; return whether the old text can be read."""
        raise NotImplementedError

    def delete_and_take_back(self, key: str) -> bool:
        """Delete a memory, and return whether calls without its text brought it back."""
        raise NotImplementedError

    def title(self, key: str) -> str:
        """Return the short name that an assistant gives a memory, for products that want one."""
        return f"{key} {' '.join(_WORD.findall(self.texts[key])[:6])}"

    def in_order(self, answer: str, marks: dict[str, str]) -> list[str]:
        """Return the ids whose marks an answer holds, in the order of their places."""
        places = {key: answer.find(mark) for key, mark in marks.items()}
        return sorted((k for k, place in places.items() if place >= 0), key=places.__getitem__)


class InfiniteMemory(Subject):
    name = "Infinite Memory"
    package = f"{ROOT}[mcp]"
    model = "two, in the package"
    _HEADING = re.compile(r"^\[\d+\] .*? · id (\S+)", re.MULTILINE)

    def environment(self) -> dict[str, str]:
        # It takes 1,000 calls a minute, and 100 of a conversation, which this work exceeds.
        names = ("CALLS_PER_MINUTE", "CONVERSATION_CALLS_PER_MINUTE")
        limits = {f"INFINITE_MEMORY_LIMITS_{name}": "0" for name in names}
        return {**super().environment(), **limits}

    def command(self) -> list[str]:
        return [str(self.folder / "bin" / "infinite-memory-mcp"), "--home", str(self.home / "im")]

    def store(self, key: str, text: str) -> bool:
        self.texts[key] = text
        return self.call("store_memory", text=text, id=key).startswith("Stored")

    def search(self, question: str) -> list[str]:
        return self._HEADING.findall(self.ask("retrieve_memory", query=question, limit=10))

    def holds(self, key: str) -> bool:
        answer = self.call("more", tool="memory_history", arguments={"id": key})
        return not answer.startswith("Error") and self.texts[key] in answer

    def replace(self, old: str, key: str, text: str) -> bool:
        self.store(key, text)
        self.call("update_memory", id=key, supersedes=[old])
        return self.holds(old)

    def delete_and_take_back(self, key: str) -> bool:
        self.call("delete_memory", id=key)
        self.call("undo")
        return key in self.search(self.texts[key])


class MemoryService(Subject):
    name = "mcp-memory-service"
    package = "mcp-memory-service-lite==12.4.0"
    model = "MiniLM¹"
    download = "a model, 80 MB"

    def command(self) -> list[str]:
        return [str(self.folder / "bin" / "memory"), "server"]

    def start(self) -> list[Any]:
        place = self.home / ".cache/mcp_memory/onnx_models/all-MiniLM-L6-v2/onnx"
        shutil.copytree(self._model, place, dirs_exist_ok=True)
        return super().start()

    def store(self, key: str, text: str) -> bool:
        self.texts[key] = text
        return "stored successfully" in self.call("memory_store", content=text)

    def search(self, question: str) -> list[str]:
        return self.in_order(self.ask("memory_search", query=question, limit=10), self.texts)

    def holds(self, key: str) -> bool:
        text = self.texts[key]
        return f". {text}\n" in self.call("memory_search", query=text, mode="exact")

    def _hash(self, key: str) -> str:
        answer = self.call("memory_search", query=self.texts[key], mode="exact")
        found = re.search(r"Hash: (\w+)", answer)
        return found[1] if found else ""

    def replace(self, old: str, key: str, text: str) -> bool:
        self.call(
            "memory_update", content_hash=self._hash(old), updates={"content": text}, versioned=True
        )
        before = self.texts[old]
        self.texts[key] = text
        answer = self.call("memory_search", query=before, mode="exact", include_superseded=True)
        return before in answer.partition("\n")[2]

    def delete_and_take_back(self, key: str) -> bool:
        self.call("memory_delete", content_hash=self._hash(key))
        return self.holds(key)


class BasicMemory(Subject):
    name = "basic-memory"
    package = "basic-memory==0.24.1"
    model = "by words²"
    download = "a model, 67 MB"
    _HEADING = re.compile(r"^### (\S+)", re.MULTILINE)

    def install(self) -> None:
        install_python(self.folder, [self.package], "3.12")

    def command(self) -> list[str]:
        return [str(self.folder / "bin" / "basic-memory"), "mcp"]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "BASIC_MEMORY_NO_PROMOS": "1"}

    def store(self, key: str, text: str) -> bool:
        self.texts[key] = text
        answer = self.call("write_note", title=self.title(key), content=text, directory="notes")
        return answer.startswith("# Created note")

    def search(self, question: str) -> list[str]:
        return self._HEADING.findall(self.ask("search_notes", query=question, page_size=10))

    def holds(self, key: str) -> bool:
        return self.texts[key] in self.call("read_note", identifier=self.title(key))

    def replace(self, old: str, _key: str, text: str) -> bool:
        self.call(
            "edit_note",
            identifier=self.title(old),
            operation="find_replace",
            find_text=self.texts[old],
            content=text,
        )
        return self.holds(old)

    def delete_and_take_back(self, key: str) -> bool:
        self.call("delete_note", identifier=self.title(key))
        return self.holds(key)


class ServerMemory(Subject):
    name = "server-memory"
    package = "@modelcontextprotocol/server-memory@2026.8.31"
    model = "none: substrings³"

    def install(self) -> None:
        install_npm(self.folder, self.package)

    def command(self) -> list[str]:
        place = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
        return ["node", str(self.folder / place)]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "MEMORY_FILE_PATH": str(self.home / "memory.jsonl")}

    def store(self, key: str, text: str) -> bool:
        self.texts[key] = text
        entity = {"name": self.title(key), "entityType": "memory", "observations": [text]}
        return self.title(key) in self.call("create_entities", entities=[entity])

    def search(self, question: str) -> list[str]:
        """Ask as it is, then for each longer word: it finds what has the query in it as a piece."""
        found = self._find(question)
        if found:
            return found
        counts: dict[str, int] = {}
        for word in dict.fromkeys(w.lower() for w in _WORD.findall(question) if len(w) > 3):
            for key in self._find(word):
                counts[key] = counts.get(key, 0) + 1
        return sorted(counts, key=lambda key: -counts[key])[:10]

    def _find(self, query: str) -> list[str]:
        answer = self.ask("search_nodes", query=query)
        return [entity["name"].split()[0] for entity in json.loads(answer)["entities"]]

    def holds(self, key: str) -> bool:
        return self.texts[key] in self.call("open_nodes", names=[self.title(key)])

    def replace(self, old: str, _key: str, text: str) -> bool:
        name = self.title(old)
        gone = {"entityName": name, "observations": [self.texts[old]]}
        self.call("delete_observations", deletions=[gone])
        self.call("add_observations", observations=[{"entityName": name, "contents": [text]}])
        return self.holds(old)

    def delete_and_take_back(self, key: str) -> bool:
        self.call("delete_entities", entityNames=[self.title(key)])
        return self.holds(key)


class Library(Subject):
    """A store of vectors without a server, in a program that speaks lines of JSON for it."""

    server = False

    def command(self) -> list[str]:
        program = Path(__file__).with_name("vector_store.py")
        python = str(self.folder / "bin" / "python")
        return [python, str(program), self.name, str(self.home / "store"), str(self._model)]

    def _ask(self, op: str, **arguments: Any) -> Any:
        return self.program.ask({"op": op, **arguments})["result"]

    def store(self, key: str, text: str) -> bool:
        self.texts[key] = text
        self._ask("store", key=key, text=text)
        return True

    def search(self, question: str) -> list[str]:
        found: list[str] = self._ask("search", question=question)
        return found

    def holds(self, key: str) -> bool:
        return bool(self._ask("holds", key=key, text=self.texts[key]))

    def replace(self, old: str, _key: str, text: str) -> bool:
        return bool(self._ask("replace", old=old, text=text))

    def delete_and_take_back(self, key: str) -> bool:
        return bool(self._ask("delete_and_take_back", key=key))


class Chroma(Library):
    name = "chromadb"
    package = "chromadb==1.5.9"
    model = "MiniLM¹"
    download = "a model, 80 MB"

    def start(self) -> list[Any]:
        place = self.home / ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx"
        shutil.copytree(self._model, place, dirs_exist_ok=True)
        return super().start()


class Lance(Library):
    name = "lancedb"
    package = "lancedb==0.40.0"
    model = "none; MiniLM¹ given"
    download = "a model of yours"

    def environment(self) -> dict[str, str]:
        extra = self.folder.with_name("lancedb-embedder")
        packages = extra / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        return {**super().environment(), "PYTHONPATH": str(packages)}

    def install(self) -> None:
        super().install()
        # Its own size is measured without these, which only the model needs.
        extra = self.folder.with_name("lancedb-embedder")
        install_python(extra, ["fastembed==0.9.1"])


SUBJECTS: tuple[type[Subject], ...] = (
    InfiniteMemory,
    MemoryService,
    BasicMemory,
    ServerMemory,
    Chroma,
    Lance,
)
