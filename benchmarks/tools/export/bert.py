"""The network of BERT's family as an ONNX graph that ends in a unit vector.

After Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2018). The graph takes
no attention mask: it is run on texts of equal length, so there is no padding to hide.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.tools.export.graph import INPUT, GraphBuilder
from benchmarks.tools.export.layers import linear, lookup
from benchmarks.tools.export.precision import Precision
from infinite_memory.core.errors import EmbedderError

Array = NDArray[np.float32]


@frozen(kw_only=True)
class BertShape:
    """The dimensions from a checkpoint's configuration, and how its output is pooled."""

    layers: int
    heads: int
    hidden: int
    intermediate: int
    vocabulary: int
    positions: int
    epsilon: float
    max_tokens: int
    pooling: str


def build_bert(
    shape: BertShape,
    weights: Mapping[str, Array],
    precision: Precision,
    *,
    removed: Array | None = None,
) -> bytes:
    """Return the serialised graph from token numbers to a vector.

    `removed` are orthonormal directions, shape (directions, hidden), which are projected out of the
    vector before it is normalised.

    Raises:
        EmbedderError: a weight is missing, or its shape contradicts the configuration.
    """
    network = _Bert(shape, weights, precision)
    x = network.embeddings()
    for number in range(shape.layers):
        x = network.layer(x, f"encoder.layer.{number}")
    pooled = network.pool(x)
    if removed is not None:
        pooled = network.remove(pooled, removed)
    return network.graph.serialize(network.unit(pooled), shape.hidden)


class _Bert:
    """A builder that adds parts of the network to a graph, by their prefixes in the checkpoint."""

    def __init__(
        self, shape: BertShape, weights: Mapping[str, Array], precision: Precision
    ) -> None:
        self.graph = GraphBuilder()
        self._shape = shape
        self._weights = weights
        self._precision = precision

    def embeddings(self) -> str:
        graph, shape = self.graph, self._shape
        words = self._weight("embeddings.word_embeddings.weight", shape.vocabulary, shape.hidden)
        places = self._weight(
            "embeddings.position_embeddings.weight", shape.positions, shape.hidden
        )
        kinds = self._weight("embeddings.token_type_embeddings.weight", None, shape.hidden)
        # Every token is of the first type, so its row is added to the positions once, here.
        table = graph.constant(places[: shape.max_tokens] + kinds[0])
        length = graph.node("Shape", INPUT, start=1, end=2)
        rows = graph.node("Slice", table, graph.constant([0]), length, graph.constant([0]))
        x = graph.node("Add", lookup(graph, self._precision, INPUT, words), rows)
        return self._normalise(x, "embeddings.LayerNorm")

    def layer(self, x: str, prefix: str) -> str:
        shape, attention = self._shape, f"{prefix}.attention"
        context = self._linear(
            self._attend(x, f"{attention}.self"),
            f"{attention}.output.dense",
            shape.hidden,
            shape.hidden,
        )
        x = self._normalise(self.graph.node("Add", context, x), f"{attention}.output.LayerNorm")
        wide = self._linear(x, f"{prefix}.intermediate.dense", shape.intermediate, shape.hidden)
        narrow = self._linear(
            self.graph.node("Gelu", wide),
            f"{prefix}.output.dense",
            shape.hidden,
            shape.intermediate,
        )
        return self._normalise(self.graph.node("Add", narrow, x), f"{prefix}.output.LayerNorm")

    def pool(self, x: str) -> str:
        graph = self.graph
        if self._shape.pooling == "cls":
            return graph.node("Gather", x, graph.constant(0), axis=1)
        return graph.node("ReduceMean", x, graph.constant([1]), keepdims=0)

    def remove(self, x: str, directions: Array) -> str:
        """Return `x` less its projection on `directions`."""
        if directions.ndim != 2 or directions.shape[1] != self._shape.hidden:
            raise EmbedderError(
                f"the directions to remove have the shape {directions.shape}, the configuration"
                f" says {self._shape.hidden} numbers each"
            )
        graph = self.graph
        shares = graph.node("MatMul", x, graph.constant(directions.T))
        return graph.node("Sub", x, graph.node("MatMul", shares, graph.constant(directions)))

    def unit(self, x: str) -> str:
        graph = self.graph
        length = graph.node("ReduceL2", x, graph.constant([-1]), keepdims=1)
        return graph.node("Div", x, length)

    def _attend(self, x: str, prefix: str) -> str:
        """Scaled dot-product attention; the three projections are a single product."""
        graph, shape = self.graph, self._shape
        width = shape.hidden // shape.heads
        names = [f"{prefix}.{part}" for part in ("query", "key", "value")]
        weight = [self._weight(f"{name}.weight", shape.hidden, shape.hidden) for name in names]
        bias = [self._weight(f"{name}.bias", shape.hidden) for name in names]
        joined = linear(graph, self._precision, x, np.concatenate(weight), np.concatenate(bias))
        parts = graph.node("Reshape", joined, graph.constant([0, 0, 3, shape.heads, width]))
        parts = graph.node("Transpose", parts, perm=[2, 0, 3, 1, 4])
        query, key, value = (
            graph.node("Gather", parts, graph.constant(part), axis=0) for part in range(3)
        )
        scores = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = graph.node("Mul", scores, graph.constant(np.float32(width**-0.5)))
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
        mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
        return graph.node("Reshape", mixed, graph.constant([0, 0, shape.hidden]))

    def _linear(self, x: str, name: str, outputs: int, inputs: int) -> str:
        weight = self._weight(f"{name}.weight", outputs, inputs)
        return linear(self.graph, self._precision, x, weight, self._weight(f"{name}.bias", outputs))

    def _normalise(self, x: str, name: str) -> str:
        hidden = self._shape.hidden
        scale = self.graph.constant(self._weight(f"{name}.weight", hidden))
        shift = self.graph.constant(self._weight(f"{name}.bias", hidden))
        return self.graph.node(
            "LayerNormalization", x, scale, shift, axis=-1, epsilon=self._shape.epsilon
        )

    def _weight(self, name: str, *expected: int | None) -> Array:
        """Return a weight after a check of its shape; None stands for any length but zero."""
        weight = self._weights.get(name, self._weights.get(f"bert.{name}"))
        if weight is None:
            raise EmbedderError(f"the weights have no tensor {name!r}; is this a BERT checkpoint?")
        fits = len(weight.shape) == len(expected) and all(
            length == want or (want is None and length > 0)
            for length, want in zip(weight.shape, expected, strict=True)
        )
        if not fits:
            raise EmbedderError(
                f"tensor {name!r} has the shape {weight.shape}, the configuration says {expected}"
            )
        if not np.isfinite(weight).all():
            raise EmbedderError(f"tensor {name!r} holds numbers that are not finite")
        return weight
