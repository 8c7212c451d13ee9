"""From the name of a model to what it is: bundled, exported, or of another's making."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from infinite_memory.embedding.description import describe
from infinite_memory.embedding.files import typed_errors
from infinite_memory.embedding.layout import is_layout, read_layout
from infinite_memory.embedding.manifest import MANIFEST, Manifest, read_manifest
from infinite_memory.errors import EmbedderError

__all__ = ["BUNDLED", "FoundModel", "find_model", "model_directory"]

BUNDLED = "bundled"
"""The name of the model that comes with the package: all-MiniLM-L6-v2, 384 dimensions, English."""


@frozen(kw_only=True)
class FoundModel:
    """A directory, and what the model in it is."""

    directory: Path
    manifest: Manifest


def model_directory(name: str | Path) -> Path:
    """Return the path of the model with that name: "bundled", or a path itself."""
    if name == BUNDLED:
        return Path(__file__).parent / "minilm"
    return Path(name).expanduser()


def find_model(
    name: str | Path,
    *,
    prefixes: tuple[str | None, str | None] = (None, None),
    folder: Path | None = None,
    keep: bool = True,
) -> FoundModel:
    """Return the model with that name: "bundled", an exported one, or a directory as it was made.

    A directory that has an `embedder.json` is an export, whatever else it has. `prefixes` go before
    questions and before texts to be found, instead of what a directory says of itself; an export
    has its own. What a directory was found to be is read from `folder`, and with `keep` kept there.

    Raises:
        EmbedderError: there is no model that this version can use, whatever the reason.
    """
    with typed_errors(name):
        return _found(model_directory(name), prefixes, folder, keep=keep)


def _found(
    path: Path, prefixes: tuple[str | None, str | None], folder: Path | None, *, keep: bool
) -> FoundModel:
    if is_layout(path) and not (path / MANIFEST).exists():
        layout = read_layout(path, prefixes)
        return FoundModel(directory=layout.root, manifest=describe(layout, folder, keep=keep))
    manifest = read_manifest(path)
    own = (manifest.query_prefix, manifest.document_prefix)
    for key, given, kept in zip(("query_prefix", "document_prefix"), prefixes, own, strict=True):
        if given not in (None, kept):
            raise EmbedderError(
                f"{key} is {given!r:.80}, but the model {manifest.name} was exported with"
                f" {kept!r:.80}; leave the setting out, or export the model with the other prefix"
            )
    return FoundModel(directory=path, manifest=manifest)
