"""Finds the parts of a model in a sentence-transformers directory that has an ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding.manifest import MAX_TOKENIZER_BYTES, TOKENIZER
from infinite_memory.search.embedding.pooling import POOLING
from infinite_memory.search.embedding.sentence_transformers import (
    MODULES,
    Prefixes,
    model_name,
    module_paths,
    number,
    pooling_mode,
    prefixes,
    read_object,
)

IN_GRAPH = "in the graph"
"""Stands for a way of pooling where only the graph can do all that the model does."""
_FIRST, _POOLING = "Transformer", "Pooling"
_OPTIONAL = {"Dense", "Normalize", "LayerNorm"}
_GRAPHS = ("onnx/model.onnx", "model.onnx")
_ANY_GRAPH = ("onnx/*.onnx", "*.onnx")
_NO_LIMIT = 1_000_000
# Their positions begin after the one of the padding token.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "xmod", "longformer"}


@frozen(kw_only=True)
class Layout:
    """The facts on a model that the small files of its directory hold.

    `graph` and `tokenizer` are paths within `root`. `pooling` is `IN_GRAPH` if the model has
    further steps, which only the graph itself can hold.
    """

    root: Path
    name: str
    graph: str
    tokenizer: str
    pooling: str
    max_tokens: int
    query_prefix: str
    document_prefix: str


def is_layout(path: Path) -> bool:
    """Return whether `path` is a sentence-transformers directory, or a graph in it."""
    return path.suffix == ".onnx" or (path / MODULES).is_file()


def read_layout(path: Path, given_prefixes: tuple[str | None, str | None] = (None, None)) -> Layout:
    """Read the small files of the model at `path`, which is a directory or a graph in it.

    `given_prefixes` are the prefixes for questions and texts, None for the directory's own.

    Raises:
        EmbedderError: a file is missing or damaged, or models of that kind cannot be used; the
            message names the offending value and the supported values.
    """
    root, graph = _locate_model(path)
    steps = module_paths(root)
    chosen = _prefixes(root, given_prefixes)
    pooling = _pooling(steps[_POOLING], chosen) if _pools(root, tuple(steps)) else IN_GRAPH
    transformer = steps[_FIRST]
    config = read_object(transformer / "config.json", optional=True)
    graph = graph or _graph(transformer)
    return Layout(
        root=root,
        name=model_name(root, config),
        graph=graph.relative_to(root).as_posix(),
        tokenizer=_tokenizer(root, transformer, graph).relative_to(root).as_posix(),
        pooling=pooling,
        max_tokens=_max_tokens(root, transformer, config),
        query_prefix=chosen[0],
        document_prefix=chosen[1],
    )


def _locate_model(path: Path) -> tuple[Path, Path | None]:
    """Return the directory of a model, and its graph if `path` is a graph.

    Links are followed, except a link to the graph: in a cache of fetched models its target has a
    different name.
    """
    if path.suffix != ".onnx" or path.is_dir():
        return path.resolve(), None
    folder = path.parent.resolve()
    if not path.is_file():
        raise EmbedderError(f"{path} is not a file; name a graph, or the directory of the model")
    for root in (folder, folder.parent):
        if (root / MODULES).is_file():
            return root, folder / path.name
    raise EmbedderError(
        f"neither {folder} nor the folder above has a {MODULES}: {path.name} alone does not say how"
        " its vectors are pooled; give a sentence-transformers directory"
    )


def _pools(root: Path, steps: tuple[str, ...]) -> bool:
    """Return whether the vectors of the tokens only need pooling, which is done here."""
    strange = [step for step in steps[1:] if step not in {_POOLING} | _OPTIONAL]
    if steps[:1] != (_FIRST,) or strange:
        raise EmbedderError(
            f"{root / MODULES} lists the modules {', '.join(steps)}; supported are {_FIRST},"
            f" {_POOLING} and {', '.join(sorted(_OPTIONAL))}"
        )
    return steps[1:2] == (_POOLING,) and set(steps[2:]) <= {"Normalize"}


def _graph(folder: Path) -> Path:
    for name in _GRAPHS:
        if (folder / name).is_file():
            return folder / name
    graphs = sorted(path for pattern in _ANY_GRAPH for path in folder.glob(pattern))
    if len(graphs) == 1:
        return graphs[0]
    if graphs:
        names = ", ".join(path.relative_to(folder).as_posix() for path in graphs)
        raise EmbedderError(
            f"{folder} has no model.onnx and several other graphs ({names}); name one of these"
            " files instead of the directory"
        )
    hint = (
        '; sentence-transformers writes one: SentenceTransformer(..., backend="onnx"), then'
        " save_pretrained"
    ) * (folder / "model.safetensors").is_file()
    raise EmbedderError(f"{folder} has no ONNX graph: no {' and no '.join(_GRAPHS)}{hint}")


def _tokenizer(root: Path, transformer: Path, graph: Path) -> Path:
    for folder in (transformer, root, graph.parent):
        if (folder / TOKENIZER).is_file():
            return _of_bounded_size(folder / TOKENIZER)
    raise EmbedderError(
        f"{transformer} has no {TOKENIZER}, the only kind of tokenizer that is supported; save the"
        " model with a fast tokenizer"
    )


def _of_bounded_size(tokenizer: Path) -> Path:
    size_bytes = tokenizer.stat().st_size
    if size_bytes > MAX_TOKENIZER_BYTES:
        raise EmbedderError(
            f"{tokenizer} has {size_bytes} bytes, and at most {MAX_TOKENIZER_BYTES} are supported;"
            " fetch the model again"
        )
    return tokenizer


def _prefixes(root: Path, given_prefixes: tuple[str | None, str | None]) -> Prefixes:
    own = prefixes(root)
    return (
        own[0] if given_prefixes[0] is None else given_prefixes[0],
        own[1] if given_prefixes[1] is None else given_prefixes[1],
    )


def _pooling(folder: Path, chosen: Prefixes) -> str:
    path = folder / "config.json"
    if any(chosen) and read_object(path).get("include_prompt") is False:
        raise EmbedderError(
            f"{path} leaves the tokens of prefixes out of the pooling (include_prompt), which is"
            f" not supported; the prefixes are {chosen[0]!r:.80} and {chosen[1]!r:.80}"
        )
    return pooling_mode(folder, POOLING)


def _max_tokens(root: Path, transformer: Path, config: dict[str, Any]) -> int:
    """Return the length of the window: the configured length, as far as the model allows it."""
    folders = (transformer, root)
    paths = [path for folder in folders for path in sorted(folder.glob("sentence_*_config.json"))]
    settings = read_object(paths[0]) if paths else {}
    if settings.get("do_lower_case"):
        raise EmbedderError(
            f"{paths[0]} asks for small letters (do_lower_case), which is not supported here; let"
            f" the tokenizer do it: a normalizer Lowercase in {TOKENIZER}"
        )
    limits = []
    if config.get("max_position_embeddings") is not None:
        limits.append(_positions(transformer / "config.json", config))
    path = transformer / "tokenizer_config.json"
    tokens = read_object(path, optional=True).get("model_max_length")
    if settings.get("max_seq_length") is not None:
        limits.append(number(paths[0], settings, "max_seq_length"))
    elif isinstance(tokens, int) and 0 < tokens <= _NO_LIMIT:
        limits.append(tokens)
    if not limits or min(limits) < 3:
        raise EmbedderError(
            f"{transformer} does not say how many tokens the model takes; supported are 3 and more"
            " as max_seq_length in sentence_bert_config.json, model_max_length in"
            " tokenizer_config.json, max_position_embeddings in config.json"
        )
    return min(*limits, _NO_LIMIT)


def _positions(path: Path, config: dict[str, Any]) -> int:
    positions = number(path, config, "max_position_embeddings")
    if config.get("model_type") not in _OFFSET_POSITIONS:
        return positions
    padding = config.get("pad_token_id")
    return positions - 1 - (padding if isinstance(padding, int) else 1)
