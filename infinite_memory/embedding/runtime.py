"""A loaded model: its tokenizer and its session of onnxruntime. Heavy; made late, and once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infinite_memory.embedding.manifest import MODEL, TOKENIZER, Manifest, check_digest
from infinite_memory.errors import EmbedderError

__all__ = ["Runtime"]

_SEVERITY_ERROR = 3
_SLAB_CHARS = 65_536


class Runtime:
    """Tokens and vectors of one text at a time. Every method may be called from any thread.

    A text is run alone, never in a batch: what a quantised model computes depends on all that is in
    the batch, and alone the same text gives the same bits.
    """

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._manifest = manifest
        self._model = directory / MODEL
        self._tokenizer = _load_tokenizer(directory, manifest)
        self._failures, self._session = _load_session(self._model, manifest)
        empty = self._tokenizer.encode("").special_tokens_mask
        self._special = len(empty)
        # A text is put between the special tokens; the last one closes it.
        self._closing = 1 if empty else 0

    def vocabulary(self) -> list[str]:
        """Return the entries of the tokenizer's vocabulary, in no order."""
        return list(self._tokenizer.get_vocab())

    def window(self, prefix: str) -> int:
        """Return how many tokens of a text fit beside the special tokens and `prefix`."""
        used = self._special + len(self._tokenizer.encode(prefix, add_special_tokens=False))
        return max(1, self._manifest.max_tokens - used)

    def offsets(self, text: str) -> NDArray[np.int32]:
        """Return the character range of each token of `text`, shape (tokens, 2)."""
        # By slabs, because a tokenizer takes up to a kilobyte of memory a character.
        parts, start = [np.empty((0, 2), dtype=np.int32)], 0
        while start < len(text):
            slab = _slab(text, start)
            offsets = self._tokenizer.encode(slab, add_special_tokens=False).offsets
            parts.append(np.array(offsets, dtype=np.int32).reshape(-1, 2) + np.int32(start))
            start += len(slab)
        return np.concatenate(parts)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of `text`; one longer than the window is cut at its end."""
        ids = self._tokenizer.encode(text[:_SLAB_CHARS]).ids
        limit = self._manifest.max_tokens
        if len(ids) > limit:
            ids = ids[: limit - self._closing] + ids[len(ids) - self._closing :]
        try:
            output = self._session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})[0]
        except self._failures as error:
            raise EmbedderError(
                f"{self._model} failed on a text of {len(ids)} tokens ({error}); export or install"
                " the model again"
            ) from error
        vector: NDArray[np.float32] = output[0]
        if not np.isfinite(vector).all():
            raise EmbedderError(
                f"{self._model} made a vector that is not finite; export or install it again"
            )
        return vector


def _slab(text: str, start: int) -> str:
    """Return the next part of `text` to tokenize; it ends between words where it can."""
    end = start + _SLAB_CHARS
    if end < len(text):
        end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end
    return text[start:end]


def _load_tokenizer(directory: Path, manifest: Manifest) -> Any:
    # Late: the import takes longer than the start of a command may.
    from tokenizers import Tokenizer  # noqa: PLC0415

    content = check_digest(directory / TOKENIZER, manifest.files[TOKENIZER])
    tokenizer = Tokenizer.from_str(content.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _load_session(path: Path, manifest: Manifest) -> tuple[tuple[type[Exception], ...], Any]:
    """Return the errors that onnxruntime raises, and a session that uses the calling thread."""
    # Late: the import takes longer than the start of a command may.
    import onnxruntime  # noqa: PLC0415
    from onnxruntime.capi import onnxruntime_pybind11_state as binding  # noqa: PLC0415

    names = (
        *("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile"),
        *("NotImplemented", "RuntimeException", "EPFail", "NoModel"),
    )
    failures = tuple(getattr(binding, name) for name in names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _SEVERITY_ERROR
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except failures as error:
        raise EmbedderError(
            f"{path} cannot be loaded ({error}); export or install the model again"
        ) from error
    shape = session.get_outputs()[0].shape
    if shape[-1] != manifest.dimensions:
        raise EmbedderError(
            f"{path} makes vectors of shape {shape}, its manifest says {manifest.dimensions};"
            " export or install the model again"
        )
    return failures, session
