"""Sessions of a client: what a later one is given before its first answer, by the hooks alone.

    python -m benchmarks.sessions [--model PATH] [--verbose] FOLDER

FOLDER is a set like that of `benchmarks.life` with `sessions/` and `session_questions.jsonl`. The
transcripts are taken in one after the other, in folders made for them, and each question is asked
as the first prompt of a new session after the one that it names. What is counted is the context:
the briefing and what is recalled for the prompt, as a hook gets them from the socket of a server.

Then the prompts and the idle questions of the set are put to the month of memories, each to a
session of its own: the mean tokens of a prompt, and those of the idle ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from benchmarks.life import fill
from benchmarks.life_scores import read_labels, share
from benchmarks.vector_cache import DEFAULT_CACHE, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.features.sessions.hook_socket import ask_server
from infinite_memory.features.sessions.spool import append_line
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp import LazyStore

_SECONDS = 60.0
_CLIENT = "claude-code"


class Machine:
    """A home folder with the folders of the sessions, and a server that answers its hooks."""

    def __init__(self, folder: Path, root: Path, index: Mapping[str, Any]) -> None:
        self.home = root / "home"
        self.now = datetime.now(UTC)
        self._sessions, self._root, self._old = folder / "sessions", root, index["home"]
        for place in index["folders"].values():
            work = self.place(place["path"])
            work.mkdir(parents=True)
            if place["repository"]:
                (work / ".git").mkdir()
                remote = place["remote"]
                config = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
                (work / ".git" / "config").write_text(config, encoding="utf-8")

    def place(self, path: str) -> Path:
        """Return the folder that stands here for one of the person's machine."""
        return Path(path.replace(self._old, str(self._root / "person"), 1))

    def end_session(self, session: Mapping[str, Any]) -> None:
        """Take in a session, at the moment at which it ended."""
        self.now = datetime.fromisoformat(session["ended"]) + timedelta(minutes=1)
        text = (self._sessions / session["file"]).read_text(encoding="utf-8")
        transcript = self._root / "transcripts" / session["file"]
        transcript.parent.mkdir(parents=True, exist_ok=True)
        transcript.write_text(text.replace(self._old, str(self._root / "person")), "utf-8")
        folder = str(self.place(session["cwd"]))
        append_line(self.home, {"client": _CLIENT, "transcript": str(transcript), "folder": folder})
        self.ask("noted", folder=folder)

    def ask(self, moment: str, **values: str) -> str:
        """Return what a hook is answered at a moment of a session."""
        answer = ask_server(
            self.home, {"moment": moment, "client": _CLIENT, **values}, seconds=_SECONDS
        )
        if answer is None:
            raise RuntimeError(f"no server answered {moment!r}")
        return str(answer["text"])

    @contextmanager
    def serve(self, model: Embedder) -> Iterator[None]:
        """Answer hooks by `model` for the length of a block."""

        def open_store() -> MemoryStore:
            return MemoryStore.open(
                self.home, embedder=model, counts_usage=False, clock=lambda: self.now
            )

        with LazyStore(open_store, works=True, answers_hooks=True) as memory:
            memory.get()
            yield


def judge(question: Mapping[str, Any], context: str) -> dict[str, bool]:
    """Return the verdicts on the context of a question: None of them on what it does not ask."""
    text = context.lower()
    wanted = [[part.lower() for part in group] for group in question["must_be_in_context"]]
    verdicts = {}
    if wanted:
        verdicts["must"] = all(any(part in text for part in group) for group in wanted)
    if question["must_not"]:
        verdicts["must_not"] = not any(part.lower() in text for part in question["must_not"])
    if question["stale"]:
        right = min((text.find(p) for g in wanted for p in g if p in text), default=len(text))
        stale = [text.find(part.lower()) for part in question["stale"]]
        verdicts["stale"] = not any(0 <= place < right for place in stale)
    return verdicts


def play(folder: Path, model: Embedder, *, verbose: bool) -> Iterator[str]:
    """Yield the figures of the sessions in `folder`."""
    index = json.loads((folder / "sessions" / "index.json").read_text(encoding="utf-8"))
    asked = list(rows(folder / "session_questions.jsonl"))
    verdicts: list[dict[str, bool]] = []
    tokens: list[int] = []
    with tempfile.TemporaryDirectory() as scratch:
        machine = Machine(folder, Path(scratch), index)
        with machine.serve(model):
            for session in index["sessions"]:
                machine.end_session(session)
                for question in asked:
                    if question["after_session"] != session["id"]:
                        continue
                    context = _read_context(machine, question)
                    verdicts.append(judge(question, context))
                    tokens.append(estimate_tokens(context))
                    if verbose and not all(verdicts[-1].values()):
                        yield f"\n{question['id']} {question['text']}: {verdicts[-1]}\n{context}"
    for name, said in (
        ("must", "what must be in the context is there"),
        ("must_not", "what must not be in it is not"),
        ("stale", "nothing stale comes first"),
    ):
        judged = [verdict[name] for verdict in verdicts if name in verdict]
        yield f"{said}: {share(sum(judged), len(judged))}"
    yield f"tokens of the context: {mean(tokens):.0f} on average, {max(tokens)} at most"


def _read_context(machine: Machine, question: Mapping[str, Any]) -> str:
    values = {"folder": str(machine.place(question["cwd"])), "session": question["id"]}
    start = machine.ask("start", **values)
    return f"{start}\n{machine.ask('prompt', **values, prompt=question['text'])}"


def push(folder: Path, model: Embedder) -> Iterator[str]:
    """Yield how many tokens the prompts of `folder` and its idle questions get."""
    labels = read_labels(folder)
    with tempfile.TemporaryDirectory() as scratch:
        month = fill(Path(scratch) / "home", labels, model)
        with month.store as store:

            def count(asked: Sequence[Mapping[str, Any]]) -> list[int]:
                return [
                    store.conversations.recall_for_prompt(row["text"], session=row["id"]).tokens
                    for row in asked
                ]

            prompts = count(list(labels.prompts.values()))
            idle = count([row for row in labels.questions.values() if row["type"] == "idle"])
    shown = sum(tokens > 0 for tokens in idle)
    yield f"tokens a prompt: {mean(prompts):.0f} over {len(prompts)} prompts"
    yield f"something shown: {shown} of {len(idle)} idle questions, {mean(idle):.0f} tokens each"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--model", default=BUNDLED, metavar="PATH", help='"bundled", or a path')
    parser.add_argument("--verbose", action="store_true", help="print what failed")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    model = open_model(arguments.model, arguments.cache)
    print(describe_environment())
    for line in play(arguments.folder, model, verbose=arguments.verbose):
        print(line, flush=True)
    for line in push(arguments.folder, model):
        print(line, flush=True)


if __name__ == "__main__":
    main()
