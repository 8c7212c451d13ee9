"""The description of a foreign model, which is read, hashed and measured once, then kept in a file.

The directory of the model may be read-only and its files large. The description is kept elsewhere,
with the size, times and inode of every file, and is valid until they change.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import re
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import open_regular
from infinite_memory.search.embedding.background import measure_background
from infinite_memory.search.embedding.layout import Layout
from infinite_memory.search.embedding.manifest import FileRecord, Manifest, parse_manifest
from infinite_memory.search.embedding.runtime import Runtime
from infinite_memory.search.embedding.scripts import covered_scripts

_log = logging.getLogger(__name__)
_FORMAT = 1
_MAX_BYTES = 1 << 20
_PRECISION = "as found"
_POINTER = b"version https://git-lfs"
# An entry of a string map with the key "location", as onnx.proto3 writes it: both fields are
# strings, of the numbers 1 and 2, and a length below 128 is one byte.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")

Stamps = dict[str, list[int]]


@frozen(kw_only=True)
class _Record:
    """A description, and the stamps of the files at the time."""

    stamps: Stamps
    manifest: Manifest


def describe(layout: Layout, folder: Path | None = None, *, keep: bool = True) -> Manifest:
    """Return the description of a model, from `folder` if it is kept there and no file has changed.

    Otherwise the files are hashed, and the model is loaded and run on a few sentences, which takes
    seconds. Nothing is kept without `keep`, or if `folder` is None or cannot be written.

    Raises:
        EmbedderError: a file cannot be read, or the model cannot be run.
    """
    path = None if folder is None else folder / _file_name(layout)
    kept = None if path is None else _read(path)
    if kept is not None and kept.stamps == _stamps(layout.root, kept.stamps):
        return kept.manifest
    names = [layout.graph, layout.tokenizer, *_external_data(layout.root / layout.graph, layout)]
    before = _stamps(layout.root, names)
    files = {name: _hash_file(layout.root / name) for name in names}
    if kept is not None and kept.manifest.files == files:
        manifest = kept.manifest
    else:
        manifest = _measure(layout, files)
    if before is None or before != _stamps(layout.root, names):
        raise EmbedderError(f"files of {layout.root} are being changed; try again")
    if path is not None and keep:
        _write(path, _Record(stamps=before, manifest=manifest))
    return manifest


def _file_name(layout: Layout) -> str:
    """Return a name that changes with the place of a model and all that is said of it."""
    fields = json.dumps({**asdict(layout), "root": str(layout.root)}, sort_keys=True)
    name = re.sub(r"[^\w.-]", "-", layout.name)[:64]
    return f"{name}-{hashlib.sha256(fields.encode()).hexdigest()[:16]}.json"


def _stamps(root: Path, names: list[str] | Stamps) -> Stamps | None:
    """Return values that change with every file, None if a file cannot be inspected."""
    try:
        statuses = {name: (root / name).stat() for name in names}
    except OSError:
        return None
    return {
        name: [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        for name, status in statuses.items()
    }


def _measure(layout: Layout, files: dict[str, FileRecord]) -> Manifest:
    manifest = Manifest(
        name=layout.name,
        dimensions=0,
        max_tokens=layout.max_tokens,
        pooling=layout.pooling,
        precision=_PRECISION,
        query_prefix=layout.query_prefix,
        document_prefix=layout.document_prefix,
        background=0.0,
        scripts=(),
        files=files,
        graph=layout.graph,
        tokenizer=layout.tokenizer,
    )
    runtime = Runtime(layout.root, manifest)
    for prefix in (layout.query_prefix, layout.document_prefix):
        if 2 * runtime.window(prefix) < layout.max_tokens:
            raise EmbedderError(
                f"the prefix {prefix!r:.80} leaves {runtime.window(prefix)} of {layout.max_tokens}"
                " tokens to the text; give a shorter one as query_prefix or document_prefix"
            )
    return evolve(
        manifest,
        dimensions=runtime.dimensions,
        output=runtime.output,
        background=measure_background(runtime, layout.query_prefix, layout.document_prefix),
        scripts=covered_scripts(runtime.vocabulary()),
    )


def _hash_file(path: Path) -> FileRecord:
    """Return the size and digest of a file, which is mapped, not read into memory."""
    with _map_file(path) as content:
        if content[: len(_POINTER)] == _POINTER:
            raise EmbedderError(
                f"{path} is a pointer of Git LFS and not the file itself; fetch the model again"
            )
        digest = hashlib.sha256(content).hexdigest()
        return FileRecord(size_bytes=len(content), sha256=digest)


def _external_data(graph: Path, layout: Layout) -> list[str]:
    """Return the files beside `graph` that hold weights of it, in order.

    The graph is searched, not parsed: it is a large message, and its parser is an optional package.
    """
    names = set()
    with _map_file(graph) as content:
        for match in _LOCATION.finditer(content):
            length = match.group(1)[0]
            name = content[match.end() : match.end() + length]
            if (graph.parent / os.fsdecode(name)).is_file():
                names.add(os.fsdecode(name))
    outside = sorted(name for name in names if Path(name).name != name)
    if outside:
        raise EmbedderError(f"{graph} keeps weights in {outside[0]!r:.120}, which is not beside it")
    return sorted((graph.parent / name).relative_to(layout.root).as_posix() for name in names)


def _map_file(path: Path) -> mmap.mmap:
    try:
        with open_regular(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise EmbedderError(
            f"{path} cannot be read ({error.strerror}); fetch the model again"
        ) from error
    except ValueError as error:
        raise EmbedderError(f"{path} is empty; fetch the model again") from error


def _read(path: Path) -> _Record | None:
    """Return the kept record, None if it is missing or damaged."""
    try:
        with open_regular(path) as file:
            fields = json.loads(file.read(_MAX_BYTES))
        if fields["format"] != _FORMAT:
            return None
        manifest = parse_manifest(path, fields["manifest"])
        stamps: Stamps = fields["stamps"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError, EmbedderError) as error:
        _log.warning("%s is not used, the model is measured again: %s", path, error)
        return None
    return _Record(stamps=stamps, manifest=manifest) if set(stamps) == set(manifest.files) else None


def _write(path: Path, record: _Record) -> None:
    """Keep `record`, whole or not at all; processes that do it at once write the same."""
    fields: dict[str, Any] = {
        "format": _FORMAT,
        "stamps": record.stamps,
        "manifest": record.manifest.fields(),
    }
    content = (json.dumps(fields, indent=2) + "\n").encode()
    try:
        # The home folder by itself, because a parent that is made on the way is open to others.
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, content, temporary_suffix=f".{os.getpid()}.tmp")
    except OSError as error:
        _log.warning("%s cannot be kept, so every start measures the model: %s", path, error)
