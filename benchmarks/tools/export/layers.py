"""The layers whose weights are worth keeping in fewer bits: products with a matrix, and tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.export.graph import GraphBuilder
from benchmarks.tools.export.precision import Precision
from infinite_memory.core.errors import EmbedderError

Array = NDArray[np.float32]

_BLOCK = 32
_INT8_ACTIVATIONS = 4


def linear(graph: GraphBuilder, precision: Precision, x: str, weight: Array, bias: Array) -> str:
    """Add x W^T + b and return its output; `weight` has the shape (outputs, inputs)."""
    if precision is Precision.FP32:
        product = graph.node("MatMul", x, graph.constant(weight.T))
        return graph.node("Add", product, graph.constant(bias))
    if precision is Precision.INT4:
        return graph.node("Add", _multiply_blocks(graph, x, weight), graph.constant(bias))
    levels, scales = _quantize_rows(weight)
    b, b_scale = graph.constant(levels.T), graph.constant(scales)
    return _two_passes(graph, x, b, b_scale, graph.constant(bias))


def _multiply_blocks(graph: GraphBuilder, x: str, weight: Array) -> str:
    """Multiply with a matrix in blocks of 4 bits."""
    levels, scales = _quantize_blocks(weight)
    # Two consecutive levels share a byte, the first in its low half.
    packed = levels[..., 0::2] | levels[..., 1::2] << 4
    return graph.node(
        "MatMulNBits",
        *(x, graph.constant(packed), graph.constant(scales.reshape(-1))),
        contrib=True,
        **{"K": weight.shape[1], "N": weight.shape[0], "bits": 4, "block_size": _BLOCK},
        accuracy_level=_INT8_ACTIVATIONS,
    )


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
    if precision is Precision.INT4:
        return _look_up_blocks(graph, ids, table)
    levels, scales = _quantize_rows(table)
    rows = graph.node("Gather", graph.constant(levels), ids)
    scale = graph.node("Gather", graph.constant(scales[:, None]), ids)
    # to=1 is float32 in ONNX's enumeration of types.
    return graph.node("Mul", graph.node("Cast", rows, to=1), scale)


def _look_up_blocks(graph: GraphBuilder, ids: str, table: Array) -> str:
    """Add the rows of a table in blocks of 4 bits: the first half of a block is in the low bits."""
    levels, scales = _quantize_blocks(table)
    packed = levels[..., : _BLOCK // 2] | levels[..., _BLOCK // 2 :] << 4
    rows = graph.node("Gather", graph.constant(packed), ids)
    low = graph.node("BitwiseAnd", rows, graph.constant(np.uint8(15)))
    high = graph.node("BitShift", rows, graph.constant(np.uint8(4)), direction="RIGHT")
    joined = graph.node("Cast", graph.node("Concat", low, high, axis=-1), to=1)
    values = graph.node("Sub", joined, graph.constant(np.float32(8)))
    kept = graph.constant(scales.astype(np.float16)[..., None])
    scale = graph.node("Cast", graph.node("Gather", kept, ids), to=1)
    blocks = graph.node("Mul", values, scale)
    return graph.node("Reshape", blocks, graph.constant([0, 0, table.shape[1]]))


def _quantize_blocks(matrix: Array) -> tuple[NDArray[np.uint8], Array]:
    """Round blocks of 32 numbers of a row to 16 levels; return the levels and the steps.

    The levels have the shape (rows, blocks, 32) and the steps (rows, blocks). The number farthest
    from zero gets level 0, so that numbers that were rounded in this way before stay as they are.

    Raises:
        EmbedderError: the length of the rows is not a multiple of 32.
    """
    if matrix.shape[1] % _BLOCK:
        raise EmbedderError(
            f"int4 keeps rows in blocks of {_BLOCK} numbers, and a row has {matrix.shape[1]};"
            " choose another precision"
        )
    blocks = matrix.reshape(len(matrix), -1, _BLOCK)
    farthest = np.abs(blocks).argmax(axis=-1)[..., None]
    steps = np.take_along_axis(blocks, farthest, axis=-1) / np.float32(-8)
    safe = np.where(steps == 0, np.float32(1), steps)
    levels = np.clip(np.rint(blocks / safe) + 8, 0, 15).astype(np.uint8)
    return levels, steps[..., 0].astype(np.float32)


def _quantize_rows(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Round every row to 255 levels around zero; return the levels and the steps of the rows."""
    largest = np.abs(matrix).max(axis=1)
    scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    levels = np.clip(np.rint(matrix / scales[:, None]), -127, 127).astype(np.int8)
    return levels, scales
