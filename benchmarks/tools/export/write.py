"""Writes an exported model: the graph, the tokenizer, and the manifest that describes both."""

from __future__ import annotations

import hashlib
from pathlib import Path

from attrs import evolve, frozen

from benchmarks.tools.export.bert import build_bert
from benchmarks.tools.export.precision import Precision
from benchmarks.tools.export.source import Source, read_source
from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding.background import measure_background
from infinite_memory.search.embedding.manifest import (
    MANIFEST,
    MODEL,
    TOKENIZER,
    FileRecord,
    Manifest,
)
from infinite_memory.search.embedding.runtime import Runtime
from infinite_memory.search.embedding.scripts import covered_scripts


@frozen(kw_only=True)
class Export:
    """The result of an export: the manifest, and the files by path with their sizes in bytes."""

    manifest: Manifest
    files: dict[Path, int]


def export_model(
    source: Path,
    out: Path,
    *,
    precision: Precision = Precision.INT8,
    name: str | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
) -> Export:
    """Export a sentence-transformers directory of BERT's family to a directory for `OnnxEmbedder`.

    The same input gives the same bytes. `name` and the prefixes replace values of the source. The
    manifest is written last, so that an interrupted export is never taken for a model. Files of an
    earlier export in `out` are replaced.

    Raises:
        EmbedderError: the source cannot be exported, `out` cannot be written, or the package onnx
            is not installed.
    """
    checkpoint = read_source(source)
    if out.resolve() == source.resolve():
        raise EmbedderError(f"{out} is the source itself; name another directory to export to")
    own = checkpoint.query_prefix, checkpoint.document_prefix
    checkpoint = evolve(
        checkpoint,
        name=checkpoint.name if name is None else name,
        query_prefix=own[0] if query_prefix is None else query_prefix,
        document_prefix=own[1] if document_prefix is None else document_prefix,
    )
    return write_model(checkpoint, out, precision=precision)


def write_model(source: Source, out: Path, *, precision: Precision = Precision.INT8) -> Export:
    """Write `source` as a model for `OnnxEmbedder` into the directory `out`; see `export_model`.

    Raises:
        EmbedderError: `source` contradicts itself, `out` cannot be written, or the package onnx is
            not installed.
    """
    contents = {
        MODEL: build_bert(source.shape, source.weights, precision, removed=source.removed),
        TOKENIZER: source.tokenizer.encode(),
    }
    manifest = Manifest(
        name=source.name,
        dimensions=source.shape.hidden,
        max_tokens=source.shape.max_tokens,
        pooling=source.shape.pooling,
        precision=str(precision),
        query_prefix=source.query_prefix,
        document_prefix=source.document_prefix,
        background=0.0,
        scripts=(),
        files={file: _record(content) for file, content in contents.items()},
    )
    _write(out, contents)
    runtime = Runtime(out, manifest)
    manifest = evolve(
        manifest,
        background=measure_background(runtime, manifest.query_prefix, manifest.document_prefix),
        scripts=covered_scripts(runtime.vocabulary()),
    )
    contents[MANIFEST] = manifest.dump().encode()
    _write(out, contents)
    sizes = {out / file: len(content) for file, content in contents.items()}
    return Export(manifest=manifest, files=sizes)


def _record(content: bytes) -> FileRecord:
    return FileRecord(size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _write(out: Path, contents: dict[str, bytes]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MANIFEST).unlink(missing_ok=True)
        for file, content in contents.items():
            (out / file).write_bytes(content)
    except OSError as error:
        raise EmbedderError(
            f"{error.filename or out} cannot be written ({error.strerror}); name a directory that"
            " can be"
        ) from error
