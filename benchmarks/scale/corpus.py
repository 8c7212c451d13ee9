"""A store of any size for measurements, kept in a folder so that it is made once.

    python -m benchmarks.scale.corpus [--folder FOLDER] [--memories 100000] [--model NAME]

The texts are drawn from 50,000 made-up words and the common English ones, the r-th of them with a
probability of 1/r (Zipf), 15 to 40 words each. The vectors are synthetic: they lie around those
that the bundled models gave to 2,000 of the texts, at a cosine of about 0.7 to their own centre, so
that real questions meet them and no machine has to embed a million texts; `--model english` is the
English model alone. One in a hundred memories
is in the scope `one-percent`, the others in twenty scopes of about 5 % each. Half are messages of
conversations of some 40 turns, between 40 people.

Everything is written through the storage, 4,096 memories and vectors a commit.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.ids import new_id
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.search.embedding import BUNDLED, open_embedder
from infinite_memory.search.text.word_lists import stop_words
from infinite_memory.storage.sqlite import SqliteStorage

DIMENSIONS = 384
RARE = "one-percent"
TOPICAL = "topical"
SCOPES = tuple(f"project-{number:02}" for number in range(20))
DEFAULT_FOLDER = Path("/tmp/scale")

_VOCABULARY = 50_000
_CENTRES = 2_000
_NOISE = 1.0
_BATCH = 4096
_START = datetime(2021, 1, 1, tzinfo=UTC)
_SPAN_SECONDS = 5 * 365 * 86_400
_TURNS = 40
_TOPIC_SIZE, _TOPIC_WORDS = 8, 4
_ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl dr fl gr pl pr sh sl st th tr".split()
_VOWELS = "a e i o u ai ea ee oo ou".split()
_CODAS = ["", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "st"]


@frozen(kw_only=True)
class Batch:
    """Memories with their vectors, float32, shape (memories, dimensions)."""

    memories: list[Memory]
    vectors: NDArray[np.float32]


@lru_cache
def vocabulary() -> list[str]:
    """Return common English words, then made-up ones, the most frequent first."""
    draw = random.Random(1)
    made: dict[str, None] = dict.fromkeys(sorted(sorted(stop_words()), key=len))
    while len(made) < _VOCABULARY + len(stop_words()):
        syllables = draw.choices((1, 2, 3), (2, 5, 3))[0]
        made["".join(draw.choice(part) for _ in range(syllables) for part in _PARTS)] = None
    return list(made)


_PARTS = (_ONSETS, _VOWELS, _CODAS)


def texts(count: int, seed: int) -> list[str]:
    """Return `count` texts; the same for the same seed."""
    rng = np.random.default_rng(seed)
    words = vocabulary()
    shares = _shares(len(words))
    lengths = rng.integers(15, 41, count)
    drawn = np.searchsorted(shares, rng.random(int(lengths.sum())) * shares[-1])
    ends = np.cumsum(lengths)
    chosen = [words[number] for number in drawn]
    return [
        " ".join(chosen[end - length : end]).capitalize() + "."
        for end, length in zip(ends, lengths, strict=True)
    ]


@lru_cache
def _shares(count: int) -> NDArray[np.float64]:
    return np.cumsum(1 / np.arange(1, count + 1))


def centres(folder: Path, embedder: Embedder) -> NDArray[np.float32]:
    """Return the vectors of 2,000 texts, shape (2000, dimensions), made once for a folder."""
    path = folder / f"centres-{embedder.model.replace('/', '-')[-16:]}.f32"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(embedder.embed(texts(_CENTRES, seed=0)).tobytes())
    return np.fromfile(path, np.float32).reshape(_CENTRES, -1)


def _draw_centres(dimensions: int) -> NDArray[np.float32]:
    parts = np.random.default_rng(0).standard_normal((_CENTRES, dimensions), np.float32)
    parts = parts.reshape(-1, DIMENSIONS)
    drawn: NDArray[np.float32] = parts / np.linalg.norm(parts, axis=1, keepdims=True)
    return drawn.reshape(_CENTRES, -1)


def around(middle: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return unit vectors near those of `middle`, whose parts keep their lengths, of its shape."""
    parts = middle.reshape(-1, DIMENSIONS)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    noise = rng.standard_normal(parts.shape, np.float32) * np.float32(_NOISE / DIMENSIONS**0.5)
    near = parts + lengths * noise
    near *= lengths / np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 1e-9)
    vectors: NDArray[np.float32] = near.reshape(middle.shape)
    return vectors


def batches(count: int, middle: NDArray[np.float32]) -> Iterator[Batch]:
    """Yield `count` memories, the same for the same count."""
    for first in range(0, count, _BATCH):
        size = min(_BATCH, count - first)
        rng = np.random.default_rng([7, first])
        draw = random.Random(first)
        lines = texts(size, seed=first + 1)
        memories = [_memory(first + place, line, count, draw) for place, line in enumerate(lines)]
        yield Batch(
            memories=memories,
            vectors=around(middle[rng.integers(0, len(middle), size)], rng),
        )


def _memory(number: int, text: str, count: int, draw: random.Random) -> Memory:
    at = _START + timedelta(seconds=int(_SPAN_SECONDS * number / count))
    fields: dict[str, Any] = {}
    if draw.random() < 0.5:
        fields = {
            "kind": Kind.MESSAGE,
            "speaker": f"Person{draw.randrange(40):02}",
            "conversation_id": f"conversation-{number // (2 * _TURNS):06}",
        }
    return Memory(
        id=new_id(at, draw.randbytes),
        text=text,
        scope=RARE if number % 100 == 99 else draw.choice(SCOPES),
        happened_at=at,
        stored_at=at,
        **fields,
    )


def questions(count: int, *, skip: int = 0) -> list[str]:
    """Return questions of three words of some text, the common ones left out.

    Those after the first `skip`: no embedder has seen them, whose cache would answer.
    """
    draw = random.Random(5)
    rest = [
        [word for word in line.rstrip(".").lower().split() if word not in stop_words()]
        for line in texts(2 * (skip + count), seed=5)
    ]
    asked = [
        f"What was said about {' '.join(draw.sample(line, 3))}?" for line in rest if len(line) > 3
    ]
    return asked[skip : skip + count]


def topic_batches(count: int, middle: NDArray[np.float32]) -> Iterator[Batch]:
    """Yield `count` memories of one scope, eight of each topic, spread over the whole time.

    The texts of a topic have four words in common, and their vectors a cosine of about 0.5.
    """
    topics = max(1, count // _TOPIC_SIZE)
    words = [word for word in vocabulary() if word not in stop_words()]
    own = np.random.default_rng(11).integers(0, len(words), (topics, _TOPIC_WORDS))
    rng = np.random.default_rng(12)
    centre_of = rng.integers(0, len(middle), topics)
    directions = around(middle[centre_of], rng)
    first = 0
    for batch in batches(count, middle):
        numbers = np.arange(first, first + len(batch.memories)) % topics
        first += len(batch.memories)
        memories = [
            evolve(
                memory,
                text=f"{' '.join(words[word] for word in own[topic])}: {memory.text}",
                scope=TOPICAL,
            )
            for memory, topic in zip(batch.memories, numbers, strict=True)
        ]
        yield Batch(memories=memories, vectors=around(directions[numbers], rng))


def store_folder(folder: Path, count: int, *, topics: bool = False, model: str = BUNDLED) -> Path:
    """Return the folder of the store of `count` memories, by default of those without topics."""
    name = f"{count}-topics" if topics else f"{count}"
    return folder / (name if model == BUNDLED else f"{name}-{model}")


def build(
    folder: Path, count: int, *, topics: bool = False, model: str = BUNDLED, embeds: bool = True
) -> float:
    """Make the store if it is not there; return how many seconds the commits took.

    The memories are those of `topic_batches` with `topics`, otherwise those of `batches`. Their
    vectors lie around those of texts, without `embeds` around random ones, which are made at once.
    """
    home = store_folder(folder, count, topics=topics, model=model)
    done = home / "corpus.done"
    if done.exists():
        return 0.0
    with closing(open_embedder(model)) as embedder:
        identity = embedder.model
        middle = centres(folder, embedder) if embeds else _draw_centres(embedder.dimensions)
    seconds = 0.0
    with closing(SqliteStorage.open(home)) as storage:
        if storage.position():
            raise SystemExit(f"{home} holds a half made store: delete it first")
        names = (TOPICAL,) if topics else (RARE, *SCOPES)
        storage.commit(Commit(scopes=[Scope(name=name) for name in names]))
        make = topic_batches if topics else batches
        for batch in make(count, middle):
            puts = [
                Put(
                    memory=memory,
                    expected=0,
                    embeddings=(
                        Embedding(
                            model=identity,
                            spans=np.array([[0, len(memory.text)]], np.int32),
                            vectors=row[None],
                        ),
                    ),
                )
                for memory, row in zip(batch.memories, batch.vectors, strict=True)
            ]
            start = time.perf_counter()
            storage.commit(Commit(puts=puts))
            seconds += time.perf_counter() - start
    done.touch()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--model", default=BUNDLED, metavar="NAME", help='or "english"')
    arguments = parser.parse_args()
    print(describe_environment())
    start = time.perf_counter()
    seconds = build(arguments.folder, arguments.memories, model=arguments.model)
    home = store_folder(arguments.folder, arguments.memories, model=arguments.model)
    if not seconds:
        print(f"{home} is there already")
        return
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    print(
        f"{arguments.memories:,} memories in {home}, {size / 1e6:,.0f} MB:"
        f" {seconds:.1f} s in commits ({arguments.memories / seconds:,.0f} a second),"
        f" {time.perf_counter() - start:.1f} s in all"
    )


if __name__ == "__main__":
    main()
