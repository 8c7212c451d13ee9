"""Reads a sentence-transformers directory of BERT's family, and refuses what it cannot export."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.embedding.export.bert import BertShape
from infinite_memory.embedding.export.safetensors import read_tensors
from infinite_memory.embedding.manifest import TOKENIZER
from infinite_memory.errors import EmbedderError

__all__ = ["Source", "read_source"]

_MAX_JSON_BYTES = 64 * 1024 * 1024
_STEPS = ("Transformer", "Pooling", "Normalize")
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


@frozen(kw_only=True)
class Source:
    """A checkpoint: its numbers, weights and tokenizer, and the prefixes it was trained with."""

    name: str
    shape: BertShape
    weights: Mapping[str, NDArray[np.float32]]
    tokenizer: str
    query_prefix: str
    document_prefix: str


def read_source(directory: Path) -> Source:
    """Read the checkpoint in a sentence-transformers directory.

    Raises:
        EmbedderError: a file is missing or damaged, or the model is of a kind that cannot be
            exported; the message says what was found and what is supported.
    """
    paths = _module_paths(directory)
    transformer = paths["Transformer"]
    config = _object(transformer / "config.json")
    settings = _object(transformer / "sentence_bert_config.json", optional=True)
    prompts = _object(directory / "config_sentence_transformers.json", optional=True).get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    return Source(
        name=Path(str(config.get("_name_or_path") or directory.resolve().name)).name,
        shape=_shape(transformer / "config.json", config, settings, _pooling(paths["Pooling"])),
        weights=read_tensors(transformer / "model.safetensors"),
        tokenizer=_tokenizer(transformer),
        query_prefix=_prompt(prompts, _QUERY_PROMPTS),
        document_prefix=_prompt(prompts, _DOCUMENT_PROMPTS),
    )


def _module_paths(directory: Path) -> dict[str, Path]:
    """Return the folder of each step; a text goes through the transformer, pooling, a norm."""
    path = directory / "modules.json"
    modules = _load(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise EmbedderError(f"{path} is not a list of modules; fetch the model again")
    steps = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if tuple(steps) not in (_STEPS, _STEPS[:2]):
        raise EmbedderError(
            f"{path} lists the modules {', '.join(steps)}; only {', '.join(_STEPS)} are supported"
        )
    root = directory.resolve()
    paths = {
        step: (root / str(module.get("path", ""))).resolve()
        for step, module in zip(steps, modules, strict=True)
    }
    for step, folder in paths.items():
        if not folder.is_relative_to(root):
            raise EmbedderError(f"{path} puts {step} at {folder}, outside of {root}")
    return paths


def _pooling(directory: Path) -> str:
    path = directory / "config.json"
    config = _object(path)
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise EmbedderError(
            f"{path} asks for {', '.join(sorted(modes)) or 'no pooling'}; supported is one of"
            f" {', '.join(_POOLING)}"
        )
    return _POOLING[modes[0]]


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
    positions = _number(path, config, "max_position_embeddings")
    max_tokens = positions
    if settings.get("max_seq_length") is not None:
        max_tokens = min(positions, _number(path, settings, "max_seq_length"))
    hidden = _number(path, config, "hidden_size")
    heads = _number(path, config, "num_attention_heads")
    if hidden % heads:
        raise EmbedderError(f"{path} has hidden_size {hidden}, no multiple of {heads} heads")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise EmbedderError(f"{path} has layer_norm_eps {epsilon!r:.80}, not between 0 and 1")
    return BertShape(
        layers=_number(path, config, "num_hidden_layers"),
        heads=heads,
        hidden=hidden,
        intermediate=_number(path, config, "intermediate_size"),
        vocabulary=_number(path, config, "vocab_size"),
        positions=positions,
        epsilon=epsilon,
        max_tokens=max_tokens,
        pooling=pooling,
    )


def _tokenizer(directory: Path) -> str:
    """Return tokenizer.json with truncation and padding off: both belong to the caller."""
    fields = _object(directory / TOKENIZER)
    fields |= {"truncation": None, "padding": None}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def _prompt(prompts: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def _number(path: Path, fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if type(value) is int and 0 < value <= 10_000_000:
        return value
    raise EmbedderError(f"{path} has {key} {value!r:.80}, which is no positive whole number")


def _object(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not path.exists():
        return {}
    fields = _load(path)
    if not isinstance(fields, dict):
        raise EmbedderError(f"{path} is not a JSON object; fetch the model again")
    return fields


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_JSON_BYTES + 1)
    except OSError as error:
        raise EmbedderError(
            f"{path} cannot be read ({error.strerror}); give a sentence-transformers directory"
        ) from error
    if len(content) > _MAX_JSON_BYTES:
        raise EmbedderError(f"{path} is larger than {_MAX_JSON_BYTES} bytes; fetch the model again")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise EmbedderError(f"{path} is not JSON ({error}); fetch the model again") from error
