"""`embedder.json`: what an exported model is, readable without loading it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from infinite_memory.errors import EmbedderError

__all__ = [
    "MANIFEST",
    "MODEL",
    "TOKENIZER",
    "FileRecord",
    "Manifest",
    "check_digest",
    "read_manifest",
]

MANIFEST = "embedder.json"
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
_FORMAT = 1
_MAX_BYTES = 64 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LIMITS = {"dimensions": 65_536, "max_tokens": 1_048_576}


@frozen(kw_only=True)
class FileRecord:
    """The size and digest of one file of an exported model."""

    size_bytes: int
    sha256: str


@frozen(kw_only=True)
class Manifest:
    """What an exported model is.

    `max_tokens` counts the special tokens at either end. `background` is the mean cosine of
    unrelated texts, `scripts` are the writing systems that the model was made for.
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

    def dump(self) -> str:
        """Return the text of the file; equal manifests give equal text."""
        fields = {"format": _FORMAT, **asdict(self)}
        return json.dumps(fields, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    @property
    def identity(self) -> str:
        """The name, and twelve digits that change with any file, prefix or limit."""
        digests = (self.files[file].sha256 for file in (MODEL, TOKENIZER))
        settings = json.dumps([self.max_tokens, self.query_prefix, self.document_prefix])
        return f"{self.name}@{_digest(*digests, settings)[:12]}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of an exported model, and that its files have their sizes.

    Raises:
        EmbedderError: the directory holds no model that this version can use.
    """
    path = directory / MANIFEST
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        fields = json.loads(content) if len(content) <= _MAX_BYTES else None
    except OSError as error:
        raise EmbedderError(
            f"{path} cannot be read ({error.strerror}); name a directory made by"
            ' "infinite-memory model export", or "bundled"'
        ) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"it is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise _unusable(path, f"it is not a JSON object of at most {_MAX_BYTES} bytes")
    if fields.get("format") != _FORMAT:
        raise _unusable(path, f"its format is {fields.get('format')!r}, this version reads 1")
    manifest = _parse(path, fields)
    for name, record in manifest.files.items():
        _check_size(directory / name, record.size_bytes)
    return manifest


def check_digest(path: Path, record: FileRecord) -> bytes:
    """Return the content of a file after comparing its digest with the recorded one.

    Raises:
        EmbedderError: the file cannot be read, or is not the one that was recorded.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != record.sha256:
        raise _unusable(path, f"its sha256 is {found}, the manifest says {record.sha256}")
    return content


def _parse(path: Path, fields: dict[str, Any]) -> Manifest:
    texts = ("name", "pooling", "precision", "query_prefix", "document_prefix")
    for key in texts:
        if not isinstance(fields.get(key), str):
            raise _unusable(path, f"{key} is {fields.get(key)!r:.80}, not text")
    for key, limit in _LIMITS.items():
        if type(fields.get(key)) is not int or not 2 < fields[key] <= limit:
            raise _unusable(path, f"{key} is {fields.get(key)!r:.80}, not within 3 to {limit}")
    background, scripts = fields.get("background"), fields.get("scripts")
    if not isinstance(background, float) or not -1 <= background < 1:
        raise _unusable(path, f"background is {background!r:.80}, not within -1 and 1")
    if not isinstance(scripts, list) or not all(isinstance(script, str) for script in scripts):
        raise _unusable(path, f"scripts is {scripts!r:.80}, not a list of names")
    files = fields.get("files")
    if not isinstance(files, dict) or set(files) != {MODEL, TOKENIZER}:
        raise _unusable(path, f"files does not describe {MODEL} and {TOKENIZER}")
    return Manifest(
        **{key: fields[key] for key in (*texts, *_LIMITS)},
        background=background,
        scripts=tuple(scripts),
        files={name: _file_record(path, name, files[name]) for name in sorted(files)},
    )


def _file_record(path: Path, name: str, entry: Any) -> FileRecord:
    size, sha256 = (
        (entry.get("size_bytes"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    )
    if type(size) is not int or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise _unusable(path, f"the entry of {name} is {entry!r:.160}")
    return FileRecord(size_bytes=size, sha256=sha256)


def _check_size(path: Path, expected: int) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from error
    if found != expected:
        raise _unusable(path, f"it has {found} bytes, the manifest says {expected}")


def _unusable(path: Path, what: str) -> EmbedderError:
    return EmbedderError(f"{path} cannot be used: {what}; export or install the model again")
