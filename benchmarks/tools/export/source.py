"""The checkpoint of a model of BERT's family in a sentence-transformers directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.tools.export.bert import BertShape
from benchmarks.tools.export.safetensors import read_tensors
from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding.files import typed_errors
from infinite_memory.search.embedding.manifest import TOKENIZER
from infinite_memory.search.embedding.sentence_transformers import (
    MODULES,
    model_name,
    module_paths,
    number,
    pooling_mode,
    prefixes,
    read_object,
)

_STEPS = ("Transformer", "Pooling", "Normalize")
_POOLING = ("mean", "cls")


@frozen(kw_only=True)
class Source:
    """A checkpoint: its numbers, weights and tokenizer, and the prefixes it was trained with.

    `removed` are directions that its vectors lose, see `build_bert`.
    """

    name: str
    shape: BertShape
    weights: Mapping[str, NDArray[np.float32]]
    tokenizer: str
    query_prefix: str
    document_prefix: str
    removed: NDArray[np.float32] | None = None


def read_source(directory: Path) -> Source:
    """Read the checkpoint in a sentence-transformers directory.

    Raises:
        EmbedderError: a file is missing or damaged, or the model is of a kind that cannot be
            exported; the message names the offending and the supported values.
    """
    with typed_errors(directory):
        return _read(directory)


def _read(directory: Path) -> Source:
    paths = _checked_steps(directory)
    transformer = paths["Transformer"]
    config = read_object(transformer / "config.json")
    settings = read_object(transformer / "sentence_bert_config.json", optional=True)
    pooling = pooling_mode(paths["Pooling"], _POOLING)
    query_prefix, document_prefix = prefixes(directory)
    return Source(
        name=model_name(directory, config),
        shape=_shape(transformer / "config.json", config, settings, pooling),
        weights=read_tensors(transformer / "model.safetensors"),
        tokenizer=_tokenizer(transformer),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
    )


def _checked_steps(directory: Path) -> dict[str, Path]:
    """Return the folders of the steps: the transformer, pooling, and a norm."""
    paths = module_paths(directory)
    if tuple(paths) not in (_STEPS, _STEPS[:2]):
        raise EmbedderError(
            f"{directory / MODULES} lists the modules {', '.join(paths)}; only {', '.join(_STEPS)}"
            " are supported"
        )
    return paths


def _shape(path: Path, config: dict[str, Any], settings: dict[str, Any], pooling: str) -> BertShape:
    supported = {
        "architectures": (["BertModel"], ["BertForMaskedLM"]),
        "model_type": ("bert",),
        "hidden_act": ("gelu",),
        "position_embedding_type": ("absolute", None),
    }
    for key, values in supported.items():
        if config.get(key) not in values:
            raise EmbedderError(
                f"{path} has {key} {config.get(key)!r:.120}; only {values[0]!r} is supported"
            )
    positions = number(path, config, "max_position_embeddings")
    max_tokens = positions
    if settings.get("max_seq_length") is not None:
        max_tokens = min(positions, number(path, settings, "max_seq_length"))
    hidden = number(path, config, "hidden_size")
    heads = number(path, config, "num_attention_heads")
    if hidden % heads:
        raise EmbedderError(
            f"{path} has hidden_size {hidden}, which is not a multiple of {heads} heads"
        )
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise EmbedderError(f"{path} has layer_norm_eps {epsilon!r:.80}, not between 0 and 1")
    return BertShape(
        layers=number(path, config, "num_hidden_layers"),
        heads=heads,
        hidden=hidden,
        intermediate=number(path, config, "intermediate_size"),
        vocabulary=number(path, config, "vocab_size"),
        positions=positions,
        epsilon=epsilon,
        max_tokens=max_tokens,
        pooling=pooling,
    )


def _tokenizer(directory: Path) -> str:
    """Return tokenizer.json with truncation and padding off: both belong to the caller."""
    fields = read_object(directory / TOKENIZER)
    fields |= {"truncation": None, "padding": None}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
