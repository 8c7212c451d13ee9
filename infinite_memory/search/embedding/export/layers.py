"""The layers whose weights are worth keeping in fewer bits: products with a matrix, and tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.embedding.export.graph import GraphBuilder
from infinite_memory.search.embedding.export.precision import Precision

Array = NDArray[np.float32]


def linear(graph: GraphBuilder, precision: Precision, x: str, weight: Array, bias: Array) -> str:
    """Add x W^T + b and return its output; `weight` has the shape (outputs, inputs)."""
    if precision is Precision.FP32:
        product = graph.node("MatMul", x, graph.constant(weight.T))
        return graph.node("Add", product, graph.constant(bias))
    levels, scales = _quantize_rows(weight)
    b, b_scale = graph.constant(levels.T), graph.constant(scales)
    if precision is Precision.INT8_FAST:
        inputs = (x, b, b_scale, "", graph.constant(bias))
        return graph.node("DynamicQuantizeMatMul", *inputs, contrib=True)
    return _two_passes(graph, x, b, b_scale, graph.constant(bias))


def _two_passes(graph: GraphBuilder, x: str, b: str, b_scale: str, bias: str) -> str:
    """Multiply the activations rounded to 8 bits, then the remainders, also in 8 bits.

    A single pass loses ten times more than the 8-bit weights do: a few large activations set the
    step for all of them. The remainder is smaller than that step, so the second pass brings the
    activations to about 16 bits with the same quick integer product.
    """
    levels, scale, zero = graph.split_node("DynamicQuantizeLinear", x, outputs=3)
    coarse = graph.node(
        "MatMulIntegerToFloat", levels, b, scale, b_scale, zero, "", bias, contrib=True
    )
    remainder = graph.node("Sub", x, graph.node("DequantizeLinear", levels, scale, zero))
    fine = graph.node("DynamicQuantizeMatMul", remainder, b, b_scale, contrib=True)
    return graph.node("Add", coarse, fine)


def lookup(graph: GraphBuilder, precision: Precision, ids: str, table: Array) -> str:
    """Add the rows of `table` that `ids` name; every quantised row has its own scale."""
    if precision is Precision.FP32:
        return graph.node("Gather", graph.constant(table), ids)
    levels, scales = _quantize_rows(table)
    rows = graph.node("Gather", graph.constant(levels), ids)
    scale = graph.node("Gather", graph.constant(scales[:, None]), ids)
    # to=1 is float32 in ONNX's enumeration of types.
    return graph.node("Mul", graph.node("Cast", rows, to=1), scale)


def _quantize_rows(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Round every row to 255 levels around zero; return the levels and the steps of the rows."""
    largest = np.abs(matrix).max(axis=1)
    scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    levels = np.clip(np.rint(matrix / scales[:, None]), -127, 127).astype(np.int8)
    return levels, scales
