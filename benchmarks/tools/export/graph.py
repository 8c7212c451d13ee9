"""A thin builder over ONNX nodes, so that a network reads as the formulas it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError, install_hint

INPUT = "input_ids"
OUTPUT = "embedding"
_OPSET = 20
_IR_VERSION = 9
_CONTRIB = "com.microsoft"


def import_onnx() -> Any:
    """Return the module `onnx`.

    Raises:
        EmbedderError: it is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise EmbedderError(
            f"exporting a model needs the package onnx: run {install_hint('tools')}"
        ) from error
    return onnx


class GraphBuilder:
    """Collects nodes and constants. Names are numbered in order, so equal input, equal bytes."""

    def __init__(self) -> None:
        self._onnx = import_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """Add an array as a constant of the graph and return its name."""
        name = f"constant_{len(self._constants)}"
        array: NDArray[Any] = np.array(value, order="C")
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, contrib: bool = False, **attributes: Any) -> str:
        """Add a node with a single output and return the name of the output."""
        return self.split_node(operator, *inputs, outputs=1, contrib=contrib, **attributes)[0]

    def split_node(
        self, operator: str, *inputs: str, outputs: int, contrib: bool = False, **attributes: Any
    ) -> list[str]:
        """Add a node with that many outputs and return their names.

        `contrib` takes the operator from onnxruntime's own set instead of the standard set.
        """
        stem = f"{operator}_{len(self._nodes)}"
        names = [f"{stem}_{number}" for number in range(outputs)]
        domain = _CONTRIB if contrib else ""
        self._nodes.append(
            self._onnx.helper.make_node(
                operator, list(inputs), names, name=stem, domain=domain, **attributes
            )
        )
        return names

    def serialize(self, output: str, dimensions: int) -> bytes:
        """Return the finished model: `INPUT`, int64 (batch, tokens), to `OUTPUT`, float32."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [output], [OUTPUT], name=OUTPUT))
        graph = helper.make_graph(
            self._nodes,
            "embedder",
            [helper.make_tensor_value_info(INPUT, kinds.INT64, ["batch", "tokens"])],
            [helper.make_tensor_value_info(OUTPUT, kinds.FLOAT, ["batch", dimensions])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="infinite-memory"
        )
        content: bytes = model.SerializeToString(deterministic=True)
        return content
