"""Small directories of sentence-transformers with real ONNX graphs: a table of words, looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tiny_bert import MODULES, POSITIONS, WORDS, tokenizer, write_json

WIDTH = 6
TABLE: NDArray[np.float32] = (
    np.random.default_rng(5).normal(0, 1, (len(WORDS), WIDTH)).astype(np.float32)
)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
BOTH = ("token_embeddings", "sentence_embedding")


def graph(
    *,
    inputs: Sequence[str] = INPUTS,
    outputs: Sequence[str] = ("last_hidden_state",),
    kind: int = TensorProto.INT64,
    shape: Sequence[Any] = ("batch", "tokens"),
    table: NDArray[np.float32] = TABLE,
) -> onnx.ModelProto:
    """A graph whose tokens are rows of `table`; its sentence_embedding is their sum, not a mean."""
    nodes = [helper.make_node("Gather", ["table", inputs[0]], ["tokens_"])]
    given = []
    for name in outputs:
        if name == "sentence_embedding":
            nodes.append(helper.make_node("ReduceSum", ["tokens_", "axis"], [name], keepdims=0))
        else:
            nodes.append(helper.make_node("Identity", ["tokens_"], [name]))
        given.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, list(shape)) for name in inputs],
        given,
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1]), "axis")],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def write_directory(
    directory: Path,
    model: onnx.ModelProto | None = None,
    *,
    at: str = "onnx/model.onnx",
    pooling: Mapping[str, object] | None = None,
    **files: object,
) -> Path:
    """Write a whole directory; `files` are further JSON files by their names without ending."""
    (directory / "1_Pooling").mkdir(parents=True, exist_ok=True)
    (directory / at).parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model or graph(), str(directory / at))
    truncating = {"max_length": 4, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
    padding = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 0}
    padding |= {"pad_to_multiple_of": None, "pad_type_id": 0, "pad_token": "[PAD]"}
    for name, value in {
        "tokenizer": tokenizer() | {"truncation": truncating, "padding": padding},
        "modules": MODULES,
        "config": {"_name_or_path": "someone/tiny", "max_position_embeddings": POSITIONS},
        "sentence_bert_config": {"max_seq_length": 12},
        "1_Pooling/config": pooling or {"pooling_mode_mean_tokens": True},
        **files,
    }.items():
        write_json(directory / f"{name}.json", value)
    return directory


def expected(
    ids: Sequence[int], pool: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The unit vector of these tokens."""
    pooled = pool(TABLE[list(ids)])
    return pooled / np.linalg.norm(pooled)
