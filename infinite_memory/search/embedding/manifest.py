"""`embedder.json`: the description of an exported model, readable without loading the model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from attrs import asdict, frozen

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.files.regular import open_regular

MANIFEST = "embedder.json"
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
EMBEDDING = "embedding"
"""The output of an exported graph: unit vectors, pooled already."""
MAX_TOKENIZER_BYTES = 256 * 1024 * 1024
"""A tokenizer is read whole; the largest in use have a tenth of this."""
_FORMAT = 1
_MAX_BYTES = 64 * 1024
_MAX_NAME_CHARS = 256
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LIMITS = {"dimensions": 65_536, "max_tokens": 1_048_576}
_AS_EXPORTED = {"graph": MODEL, "tokenizer": TOKENIZER, "output": EMBEDDING}
_WORDS = ("name", "pooling", "precision", "query_prefix", "document_prefix", "output")
_TEXTS = (*_WORDS, "graph", "tokenizer")


@frozen(kw_only=True)
class FileRecord:
    """The size and digest of a file of a model."""

    size_bytes: int
    sha256: str


@frozen(kw_only=True)
class Manifest:
    """The description of an exported or a foreign model.

    `max_tokens` counts the special tokens at both ends. `background` is the mean cosine of
    unrelated texts; `scripts` are the writing systems of the model. `files` are all files that
    vectors depend on, by their paths within the directory, among them `graph` and `tokenizer`.
    `output` is the output of the graph that is used.
    """

    name: str
    dimensions: int
    max_tokens: int
    pooling: str
    precision: str
    query_prefix: str
    document_prefix: str
    background: float
    scripts: tuple[str, ...]
    files: Mapping[str, FileRecord]
    graph: str = MODEL
    tokenizer: str = TOKENIZER
    output: str = EMBEDDING

    def fields(self) -> dict[str, Any]:
        """Return the fields for `parse_manifest`, without the values that every export has."""
        fields = {"format": _FORMAT, **asdict(self)}
        return {key: value for key, value in fields.items() if _AS_EXPORTED.get(key) != value}

    def dump(self) -> str:
        """Return the text of the file; equal manifests give equal text."""
        return json.dumps(self.fields(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    @property
    def identity(self) -> str:
        """The name, and twelve digits that change with any file, prefix, pooling or limit."""
        first = (self.graph, self.tokenizer)
        further_files = sorted(set(self.files).difference(first))
        digests = (self.files[file].sha256 for file in (*first, *further_files))
        settings = [self.max_tokens, self.query_prefix, self.document_prefix]
        if self.output != EMBEDDING:
            # An exported graph pools, and changes with the pooling.
            settings += [self.output, self.pooling]
        return f"{self.name}@{_digest(*digests, json.dumps(settings))[:12]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of an exported model, and that its files have their sizes.

    Raises:
        EmbedderError: the directory holds no model that this version can use.
    """
    path = directory / MANIFEST
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_BYTES + 1)
        fields = json.loads(content) if len(content) <= _MAX_BYTES else None
    except OSError as error:
        raise EmbedderError(
            f"{path} cannot be read ({error.strerror}); name a sentence-transformers directory with"
            ' an ONNX graph, "bundled" or "english"'
        ) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"it is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise _unusable(path, f"it is not a JSON object of at most {_MAX_BYTES} bytes")
    if fields.get("format") != _FORMAT:
        raise _unusable(path, f"its format is {fields.get('format')!r}, this version reads 1")
    if set(_AS_EXPORTED) & set(fields):
        raise _unusable(path, f"an export has no {', '.join(sorted(_AS_EXPORTED))}")
    manifest = parse_manifest(path, fields)
    check_sizes(directory, manifest)
    return manifest


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Refuse a model with a missing file, a file of the wrong size, or a huge tokenizer.

    Raises:
        EmbedderError: the model is refused.
    """
    if manifest.files[manifest.tokenizer].size_bytes > MAX_TOKENIZER_BYTES:
        path = directory / manifest.tokenizer
        raise _unusable(path, f"it has more than {MAX_TOKENIZER_BYTES} bytes")
    for name, record in manifest.files.items():
        _check_size(directory / name, record.size_bytes)


def check_digest(path: Path, record: FileRecord) -> bytes:
    """Return the content of a file after comparing its digest with the recorded digest.

    Raises:
        EmbedderError: the file cannot be read, or differs from the recorded file.
    """
    try:
        with open_regular(path) as file:
            content = file.read()
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != record.sha256:
        raise _unusable(path, f"its sha256 is {digest}, the manifest says {record.sha256}")
    return content


def parse_manifest(path: Path, fields: dict[str, Any]) -> Manifest:
    """Return the manifest that `fields`, read from `path`, describe.

    Raises:
        EmbedderError: a value cannot be right.
    """
    fields = {**_AS_EXPORTED, **fields}
    _check_texts(path, fields)
    for key, limit in _LIMITS.items():
        if type(fields.get(key)) is not int or not 2 < fields[key] <= limit:
            raise _unusable(path, f"{key} is {fields.get(key)!r:.80}, not within 3 to {limit}")
    background, scripts = fields.get("background"), fields.get("scripts")
    if not isinstance(background, float) or not -1 <= background < 1:
        raise _unusable(path, f"background is {background!r:.80}, not within -1 and 1")
    if not isinstance(scripts, list) or not all(isinstance(script, str) for script in scripts):
        raise _unusable(path, f"scripts is {scripts!r:.80}, not a list of names")
    files, first = fields.get("files"), {fields["graph"], fields["tokenizer"]}
    exported = fields["output"] == EMBEDDING
    if not isinstance(files, dict) or not first <= set(files) or (exported and first != set(files)):
        raise _unusable(path, f"files does not describe {' and '.join(sorted(first))}")
    return Manifest(
        **{key: fields[key] for key in (*_TEXTS, *_LIMITS)},
        background=background,
        scripts=tuple(scripts),
        files={name: _file_record(path, name, files[name]) for name in sorted(files)},
    )


def _check_texts(path: Path, fields: dict[str, Any]) -> None:
    for key in _TEXTS:
        value = fields.get(key)
        # The others are names of files, which Python gives halves of pairs where they are no UTF-8.
        if not (is_text(value) if key in _WORDS else isinstance(value, str)):
            raise _unusable(path, f"{key} is {value!r:.80}, not text")
    name = fields["name"]
    if not name.isprintable() or len(name) > _MAX_NAME_CHARS:
        raise _unusable(
            path, f"name is {name!r:.80}, not a line of at most {_MAX_NAME_CHARS} characters"
        )


def is_text(value: object) -> TypeGuard[str]:
    """Return whether `value` is a string that UTF-8 can encode: without a lone surrogate."""
    return isinstance(value, str) and not _SURROGATE.search(value)


def _file_record(path: Path, name: str, entry: Any) -> FileRecord:
    size, sha256 = (
        (entry.get("size_bytes"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    )
    if type(size) is not int or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise _unusable(path, f"the entry of {name} is {entry!r:.160}")
    return FileRecord(size_bytes=size, sha256=sha256)


def _check_size(path: Path, expected: int) -> None:
    try:
        size_bytes = path.stat().st_size
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from error
    if size_bytes != expected:
        raise _unusable(path, f"it has {size_bytes} bytes, the manifest says {expected}")


def _unusable(path: Path, what: str) -> EmbedderError:
    return EmbedderError(f"{path} cannot be used: {what}; export or install the model again")
