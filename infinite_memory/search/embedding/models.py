"""The model behind a name: bundled, multilingual, exported or foreign."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.paths import expand_path
from infinite_memory.search.embedding.description import describe
from infinite_memory.search.embedding.files import typed_errors
from infinite_memory.search.embedding.layout import is_layout, read_layout
from infinite_memory.search.embedding.manifest import MANIFEST, Manifest, read_manifest

BUNDLED = "bundled"
"""The name of the model that comes with the package: all-MiniLM-L6-v2, 384 dimensions, English."""
ENGLISH = "english"
"""The name of all-MiniLM-L6-v2 alone."""
MULTILINGUAL = "multilingual"
"""The name of multilingual-e5-small, which `install_multilingual` makes in the home folder."""
_MULTILINGUAL_FOLDER = "multilingual-e5-small"


@frozen(kw_only=True)
class FoundModel:
    """A directory, and the description of the model in it."""

    directory: Path
    manifest: Manifest


def model_directory(name: str | Path, folder: Path | None = None) -> Path:
    """Return the path of the model with that name: "bundled", "multilingual", or a path itself.

    The multilingual model is in `folder`, which is `models` in a home folder.

    Raises:
        EmbedderError: the multilingual model is asked for without `folder`.
    """
    if name in (BUNDLED, ENGLISH):
        return Path(__file__).parent / "minilm"
    if name != MULTILINGUAL:
        return expand_path(name)
    if folder is None:
        raise EmbedderError(
            f'"{MULTILINGUAL}" is a model in a home folder: give the path of its folder,'
            f" models/{_MULTILINGUAL_FOLDER} in the home folder"
        )
    return folder / _MULTILINGUAL_FOLDER


def find_model(
    name: str | Path,
    *,
    prefixes: tuple[str | None, str | None] = (None, None),
    folder: Path | None = None,
    keep: bool = True,
) -> FoundModel:
    """Return the model with that name: "bundled", "multilingual", an export or a foreign directory.

    A directory with an `embedder.json` is an export. `prefixes` go before questions and documents
    and replace the prefixes of a foreign directory; an export has its own. The description of a
    foreign directory is read from `folder`, and with `keep` kept there; the multilingual model is
    in `folder` itself.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    with typed_errors(name):
        directory = model_directory(name, folder)
        if name == MULTILINGUAL and not directory.is_dir():
            raise EmbedderError(
                f"{directory} does not exist: run `infinite-memory model use {MULTILINGUAL}`, which"
                " makes it"
            )
        return _find_in(directory, prefixes, folder, keep=keep)


def _find_in(
    path: Path, prefixes: tuple[str | None, str | None], folder: Path | None, *, keep: bool
) -> FoundModel:
    if is_layout(path) and not (path / MANIFEST).exists():
        layout = read_layout(path, prefixes)
        return FoundModel(directory=layout.root, manifest=describe(layout, folder, keep=keep))
    manifest = read_manifest(path)
    own = (manifest.query_prefix, manifest.document_prefix)
    for key, prefix, kept in zip(("query_prefix", "document_prefix"), prefixes, own, strict=True):
        if prefix not in (None, kept):
            raise EmbedderError(
                f"{key} is {prefix!r:.80}, but the model {manifest.name} was exported with"
                f" {kept!r:.80}; leave the setting out, or export the model with the other prefix"
            )
    return FoundModel(directory=path, manifest=manifest)
