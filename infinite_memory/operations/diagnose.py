"""What the doctor looks at: each check answers with findings and changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import apsw
import numpy as np
from attrs import frozen

from infinite_memory.cli.render import size
from infinite_memory.config import Config
from infinite_memory.embedding import BUNDLED, OnnxEmbedder, configured_model
from infinite_memory.errors import EmbedderError, StorageError
from infinite_memory.storage.sqlite.connection import check_library

__all__ = ["Finding", "State", "check_home", "check_model", "check_platform"]

_PYTHONS = ((3, 11), (3, 14))
_SCARCE_BYTES, _TOO_FEW_BYTES = 200_000_000, 10_000_000
_SENTENCE = "The quick brown fox jumps over the lazy dog."
# The first numbers of its vector by the bundled model; processors differ in the third digit.
_VECTOR = (0.042, 0.058, 0.052, 0.076, 0.026, -0.038, 0.0, -0.061, -0.003, 0.022, 0.046, 0.057)
_TOLERANCE = 0.02


class State(StrEnum):
    """How grave a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@frozen
class Finding:
    """What a check found, in a sentence."""

    about: str
    state: State
    sentence: str


def check_platform() -> Iterator[Finding]:
    """Look at Python and at the SQLite library."""
    version, (low, high) = sys.version_info[:2], _PYTHONS
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    if low <= version < high:
        yield Finding("python", State.OK, f"{python} is supported.")
    else:
        yield Finding(
            "python", State.WARNING, f"{python} was not tested: use 3.{low[1]} to 3.{high[1] - 1}."
        )
    number = apsw.sqlite_lib_version()
    try:
        check_library(number)
    except StorageError as error:
        yield Finding("sqlite", State.PROBLEM, f"{error}.")
    else:
        yield Finding("sqlite", State.OK, f"SQLite {number} is safe to share between processes.")


def check_home(home: Path) -> Iterator[Finding]:
    """Look at the home folder: is it there, private and writable, with space on its disk."""
    if not home.exists():
        yield from _check_parent(home)
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("home", State.PROBLEM, f"{home} cannot be written: chmod 700 {home}.")
    elif mode & 0o077:
        yield Finding(
            "home", State.WARNING, f"{home} is open to others (mode {mode:o}): chmod 700 {home}."
        )
    else:
        yield Finding("home", State.OK, f"{home} is there, private and writable.")
    yield _check_space(home)


def _check_parent(home: Path) -> Iterator[Finding]:
    parent = next(folder for folder in home.parents if folder.exists())
    if os.access(parent, os.W_OK | os.X_OK):
        yield Finding("home", State.OK, f"{home} is not there yet; the first memory makes it.")
        yield _check_space(parent)
    else:
        yield Finding(
            "home",
            State.PROBLEM,
            f"{home} cannot be made, since {parent} cannot be written: give --home another folder.",
        )


def _check_space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    if free < _TOO_FEW_BYTES:
        return Finding("disk", State.PROBLEM, f"Only {size(free)} are free: make room.")
    if free < _SCARCE_BYTES:
        return Finding("disk", State.WARNING, f"{size(free)} are free, which is little.")
    return Finding("disk", State.OK, f"{size(free)} are free.")


def check_model(config: Config) -> Iterator[Finding]:
    """Look at the files of the model, load it, and embed a sentence whose vector is known."""
    try:
        with OnnxEmbedder(configured_model(config, keep=False), workers=1) as embedder:
            embedder.verify()
            yield Finding(
                "model files", State.OK, f"{embedder.model} is complete, as it was recorded."
            )
            vector = embedder.embed_query(_SENTENCE)
    except EmbedderError as error:
        yield Finding("model", State.PROBLEM, f"{error}.")
        return
    known = config.embedder != BUNDLED or np.allclose(
        vector[: len(_VECTOR)], _VECTOR, rtol=0, atol=_TOLERANCE
    )
    if known and abs(float(np.linalg.norm(vector)) - 1) < _TOLERANCE:
        yield Finding("model", State.OK, "The model runs and gives the vector that it should.")
    else:
        yield Finding(
            "model",
            State.PROBLEM,
            "The model runs but gives a wrong vector: install onnxruntime again.",
        )
