"""The model behind a name: bundled, multilingual, exported or foreign."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, frozen

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.paths import expand_path
from infinite_memory.search.embedding.description import describe
from infinite_memory.search.embedding.files import typed_errors
from infinite_memory.search.embedding.layout import is_layout, read_layout
from infinite_memory.search.embedding.manifest import MANIFEST, Manifest, read_manifest

BUNDLED = "bundled"
"""The name of both models of the package together: see `paired`."""
ENGLISH = "english"
"""The name of all-MiniLM-L6-v2 alone, 384 dimensions."""
MULTILINGUAL = "multilingual"
"""The name of the whole multilingual-e5-small that earlier versions made in a home folder."""
_MULTILINGUAL_FOLDER = "multilingual-e5-small"
_PACKAGE = Path(__file__).parent


@frozen(kw_only=True)
class FoundModel:
    """A directory and the description of the model in it; of a pair, those of the English model.

    `second` is the multilingual model of a pair.
    """

    directory: Path
    manifest: Manifest
    second: FoundModel | None = None

    @property
    def parts(self) -> tuple[FoundModel, ...]:
        """The models that are run: this one, or both of a pair."""
        return (self,) if self.second is None else (evolve(self, second=None), self.second)


def model_directory(name: str | Path, folder: Path | None = None) -> Path:
    """Return the path of the single model with that name: "english", "multilingual", or a path.

    The multilingual model is in `folder`, which is `models` in a home folder.

    Raises:
        EmbedderError: the multilingual model is asked for without `folder`.
    """
    if name == ENGLISH:
        return _PACKAGE / "minilm"
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
    """Return the model with that name: "bundled", "english", "multilingual", or one at a path.

    A directory with an `embedder.json` is an export. `prefixes` go before questions and documents
    and replace the prefixes of a foreign directory; an export has its own. The description of a
    foreign directory is read from `folder`, and with `keep` kept there; the multilingual model is
    in `folder` itself.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    with typed_errors(name):
        if name == BUNDLED:
            english = _find_in(_PACKAGE / "minilm", prefixes, folder, keep=keep)
            multilingual = _PACKAGE / "e5"
            second = FoundModel(directory=multilingual, manifest=read_manifest(multilingual))
            return evolve(english, second=second)
        directory = model_directory(name, folder)
        if name == MULTILINGUAL and not directory.is_dir():
            raise EmbedderError(
                f"{directory} does not exist: run `infinite-memory model use {BUNDLED}`, which"
                " uses the models of the package"
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
