"""A tiny checkpoint of BERT's shape with random weights, and what it must compute, in numpy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIDDEN, WIDE, HEADS, LAYERS, POSITIONS = 32, 64, 2, 2, 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##c", "dog", ".", "query", ":"]


def tensors(seed: int = 1) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for number in range(LAYERS):
        prefix = f"encoder.layer.{number}"
        for name, outputs, inputs in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", WIDE, HIDDEN),
            ("output.dense", HIDDEN, WIDE),
        ):
            shapes[f"{prefix}.{name}.weight"] = (outputs, inputs)
            shapes[f"{prefix}.{name}.bias"] = (outputs,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}.{name}.weight"] = (HIDDEN,)
            shapes[f"{prefix}.{name}.bias"] = (HIDDEN,)
    return {name: random.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def safetensors(values: dict[str, NDArray[Any]]) -> bytes:
    types = {"float32": "F32", "float16": "F16", "int64": "I64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, value in values.items():
        raw = value.tobytes()
        header[name] = {
            "dtype": types[str(value.dtype)],
            "shape": list(value.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tokenizer() -> dict[str, Any]:
    special = [
        {
            "id": number,
            "content": WORDS[number],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number in range(4)
    ]
    return {
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 4},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            },
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(WORDS)},
        },
    }


CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": HIDDEN,
    "intermediate_size": WIDE,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "vocab_size": len(WORDS),
}
POOLING = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def write_checkpoint(directory: Path) -> Path:
    (directory / "1_Pooling").mkdir(parents=True)
    (directory / "model.safetensors").write_bytes(safetensors(tensors()))
    write_json(directory / "config.json", CONFIG)
    write_json(directory / "tokenizer.json", tokenizer())
    write_json(directory / "modules.json", MODULES)
    write_json(directory / "1_Pooling/config.json", POOLING)
    write_json(directory / "sentence_bert_config.json", {"max_seq_length": 12})
    return directory


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")


def forward(ids: list[int], pooling: str = "mean") -> NDArray[np.float64]:
    """The network in double precision, written without regard to the graph that is under test."""
    w = {name: value.astype(np.float64) for name, value in tensors().items()}

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        prefix, heads = f"encoder.layer.{number}", []
        q, k, v = (dense(x, f"{prefix}.attention.self.{p}") for p in ("query", "key", "value"))
        for head in np.split(np.arange(HIDDEN), HEADS):
            scores = np.exp(q[:, head] @ k[:, head].T / math.sqrt(len(head)))
            heads.append(scores / scores.sum(-1, keepdims=True) @ v[:, head])
        mixed = dense(np.concatenate(heads, -1), f"{prefix}.attention.output.dense")
        x = norm(x + mixed, f"{prefix}.attention.output.LayerNorm")
        wide = dense(x, f"{prefix}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(x + dense(wide, f"{prefix}.output.dense"), f"{prefix}.output.LayerNorm")
    pooled = x.mean(0) if pooling == "mean" else x[0]
    return pooled / np.linalg.norm(pooled)
