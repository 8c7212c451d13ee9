"""Checks of an installation and its store, as `infinite-memory doctor` makes them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from infinite_memory.core.config import Config
from infinite_memory.core.errors import (
    ConfigurationError,
    EmbedderError,
    InfiniteMemoryError,
    StoreDamaged,
)
from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.protocols.candidates import CandidateEngine
from infinite_memory.core.values.address import MANAGED, masked
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.core.values.record import Size
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.engine.active_model import Models
from infinite_memory.engine.model_building import build_model, open_former_model
from infinite_memory.engine.retrieval.language_hint import (
    OTHER_LANGUAGES,
    needs_multilingual,
)
from infinite_memory.engine.verification.checks import (
    check_damage,
    check_engine,
    check_pending,
    check_space,
    count_memories,
    count_pending,
    measure_free_bytes,
)
from infinite_memory.search.embedding import (
    BUNDLED,
    ENGLISH,
    OnnxEmbedder,
    configured_embedder,
    configured_model,
    join_parts,
)
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.open import (
    address_of,
    diagnose_unopened,
    open_existing,
    snapshot_folder,
)
from infinite_memory.storage.sqlite.files.diagnose import diagnose_library

MakeEngine = Callable[[str, str, Embedder], CandidateEngine[Any, Any]]
_PYTHONS = ((3, 11), (3, 15))
_SENTENCE = "The quick brown fox jumps over the lazy dog."
# The first numbers of its vector by the bundled model; processors differ in the third digit.
_VECTORS = {
    "minilm": (0.042, 0.058, 0.052, 0.076, 0.026, -0.038, 0.0, -0.061, -0.003, 0.022, 0.046, 0.057),
    "e5": (0.018, 0.052, 0.047, -0.071, 0.072, 0.05, -0.003, -0.197, -0.012, -0.083, 0.024, 0.051),
}
_TOLERANCE = 0.02


def diagnose_platform() -> Iterator[Diagnosis]:
    """Check Python and the SQLite library."""
    version, (low, high) = sys.version_info[:2], _PYTHONS
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    if low <= version < high:
        yield Diagnosis("python", State.OK, f"{python} is supported.")
    else:
        yield Diagnosis(
            "python", State.WARNING, f"{python} was not tested: use 3.{low[1]} to 3.{high[1] - 1}."
        )
    yield diagnose_library()


def diagnose_installation(
    config: Config, make_engine: MakeEngine | None = None
) -> Iterator[Diagnosis]:
    """Check the home folder, the store and the model of a configuration.

    A store that does not exist, or that opening would change, is not opened. `make_engine` makes
    the search engine of an address, whose client is loaded only where there is one.
    """
    yield from _check_home(config.home)
    yield from _check_store(config, make_engine)
    yield from _check_model(config)


def _check_home(home: Path) -> Iterator[Diagnosis]:
    """Check that the home folder is private and writable, with space on its disk."""
    if not home.exists():
        yield from _check_parent(home)
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Diagnosis("home", State.PROBLEM, f"{home} cannot be written: chmod 700 {home}.")
    elif mode & 0o077:
        yield Diagnosis(
            "home", State.WARNING, f"{home} is open to others (mode {mode:o}): chmod 700 {home}."
        )
    else:
        yield Diagnosis("home", State.OK, f"{home} exists, is private and can be written.")
    yield check_space(measure_free_bytes(home))


def _check_parent(home: Path) -> Iterator[Diagnosis]:
    parent = next(folder for folder in home.parents if folder.exists())
    if os.access(parent, os.W_OK | os.X_OK):
        sentence = f"{home} does not exist yet; the first memory creates it."
        yield Diagnosis("home", State.OK, sentence)
        yield check_space(measure_free_bytes(parent))
    else:
        yield Diagnosis(
            "home",
            State.PROBLEM,
            f"{home} cannot be created, since {parent} is not writable: choose another --home.",
        )


def _check_store(config: Config, make_engine: MakeEngine | None) -> Iterator[Diagnosis]:
    address = address_of(config)
    try:
        for diagnosis in diagnose_unopened(address, home=config.home, mongod=config.mongod):
            yield diagnosis
            if diagnosis.state is not State.OK:
                return
        yield from _check_open_store(config, address, make_engine)
    except InfiniteMemoryError as error:
        yield Diagnosis("store", State.PROBLEM, f"{error}.")


def _check_open_store(
    config: Config, address: str, make_engine: MakeEngine | None
) -> Iterator[Diagnosis]:
    storage = open_existing(address, home=config.home, mongod=config.mongod)
    if storage is None:
        where = config.home if address == MANAGED else masked(address)
        yield Diagnosis("store", State.OK, f"There is no store in {where} yet.")
        return
    try:
        size = storage.measure()
        yield _check_records(address, size)
        # The numbers are kept counts: this looks at what is stored.
        storage.find(Criteria(scopes=frozenset(storage.scopes())), limit=1)
        yield check_damage(storage)
        try:
            embedder = configured_embedder(config, keep=False)
        except (ConfigurationError, EmbedderError):
            return  # `_check_model` reports the error.
        try:
            answers = partial(_find_answering_model, storage, embedder, config)
            pending = count_pending(storage, embedder.model)
            yield check_pending(pending, embedder.model, size, answers)
            if config.search.engine and make_engine is not None:
                with closing(make_engine(config.search.engine, storage.identity, embedder)) as it:
                    yield check_engine(it)
            folder = snapshot_folder(address, storage, home=config.home)
            if folder is not None and size.memories:
                yield _check_snapshot(folder, storage, embedder)
        finally:
            embedder.close()
    except StoreDamaged as error:
        yield Diagnosis(
            "damage",
            State.PROBLEM,
            f"{error}. Run infinite-memory verify, which says what can still be read.",
        )
    finally:
        storage.close()


def _check_records(address: str, size: Size) -> Diagnosis:
    number = format_count(count_memories(size), "memory", "memories")
    formatted_size = format_size(size.size_bytes)
    return Diagnosis("records", State.OK, f"{masked(address)} opens: {number} in {formatted_size}.")


def _find_answering_model(
    storage: Storage, embedder: Embedder, config: Config
) -> tuple[str, str | None]:
    """Return which model answers while memories are pending, and why the active model cannot."""
    models = Models(
        storage,
        lambda: embedder,
        build=build_model,
        open_former=lambda active: open_former_model(config, active, keep=False),
    )
    try:
        return models.answering().name, models.failure
    finally:
        models.close()


def _check_snapshot(folder: Path, storage: Storage, embedder: Embedder) -> Diagnosis:
    snapshots = list(folder.glob("*.index"))
    if not snapshots:
        sentence = "There is no snapshot of the index; a search builds the index."
        return Diagnosis("index", State.OK, sentence)
    ours = Snapshot(
        folder,
        identity=storage.identity,
        model=embedder.model,
        dimensions=embedder.dimensions,
    )
    try:
        view = ours.load_verified()
    except ValueError as error:
        return Diagnosis(
            "index",
            State.WARNING,
            f"The snapshot of the index is damaged ({error}): run infinite-memory verify --mend.",
        )
    position = storage.position()
    if view is not None and view.cursor > position:
        return Diagnosis(
            "index",
            State.PROBLEM,
            f"The index has seen {view.cursor:,} changes and the store has only {position:,}: if"
            " you put an older copy of the database in place, delete the folder"
            f" {folder}; if not, the newest memories are missing: look for"
            " memory.db-wal, or restore a backup.",
        )
    total = sum(path.stat().st_size for path in snapshots)
    return Diagnosis("index", State.OK, f"The snapshot of the index takes {format_size(total)}.")


def _check_model(config: Config) -> Iterator[Diagnosis]:
    """Check the files of the models, load them, and embed a sentence whose vectors are known."""
    is_right = True
    try:
        found = configured_model(config, keep=False)
        with closing(join_parts(found, config.execution_providers)) as embedder:
            name = embedder.model
            embedder.verify()
            yield Diagnosis("model files", State.OK, f"{name} is complete, as it was recorded.")
        for part in found.parts:
            with OnnxEmbedder(part, workers=1, providers=config.execution_providers) as model:
                vector = model.embed_query(_SENTENCE)
            is_ours = config.embedder in (BUNDLED, ENGLISH)
            known = _VECTORS.get(part.directory.name, ()) if is_ours else ()
            is_near = np.allclose(vector[: len(known)], known, rtol=0, atol=_TOLERANCE)
            is_right &= is_near and abs(float(np.linalg.norm(vector)) - 1) < _TOLERANCE
    except (ConfigurationError, EmbedderError) as error:
        yield Diagnosis("model", State.PROBLEM, f"{error}.")
        return
    if is_right:
        yield Diagnosis("model", State.OK, "The model runs and gives the vector that it should.")
    else:
        yield Diagnosis(
            "model",
            State.PROBLEM,
            "The model runs but gives a wrong vector: install onnxruntime again.",
        )
    if needs_multilingual(name):
        sentence = f"The model was made for English: {OTHER_LANGUAGES}."
        yield Diagnosis("languages", State.OK, sentence)
