"""A loaded model: its tokenizer and its session of onnxruntime. Heavy; made late, and once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding.manifest import Manifest, check_digest, check_sizes
from infinite_memory.search.embedding.session import CPU_ONLY, Session

_SLAB_CHARS = 65_536


class Runtime:
    """Tokens and vectors of a single text at a time. Every method may be called from any thread.

    A text is run alone, never in a batch: the result of a quantised model depends on the whole
    batch, while a text alone always gives the same bits.
    """

    def __init__(
        self, directory: Path, manifest: Manifest, *, providers: Sequence[str] = CPU_ONLY
    ) -> None:
        """Load the model that `manifest` describes, to be run by `providers`, see `Session`.

        A manifest of 0 dimensions is incomplete: its dimensions are not compared.

        Raises:
            EmbedderError: a file differs from the recorded file, or cannot be used.
        """
        check_sizes(directory, manifest)
        self._manifest = manifest
        self._tokenizer, self._padding = _load_tokenizer(directory, manifest)
        self._session = Session(directory / manifest.graph, manifest.pooling, providers=providers)
        self._special, self._closing = _special_tokens(self._tokenizer)
        dimensions = len(self.vector(""))
        if dimensions != (manifest.dimensions or dimensions):
            raise EmbedderError(
                f"{directory / manifest.graph} makes vectors of {dimensions} dimensions, its"
                f" manifest says {manifest.dimensions}; export or install the model again"
            )
        self.dimensions = dimensions

    @property
    def output(self) -> str:
        """The output of the graph that vectors are made of."""
        return self._session.output

    def vocabulary(self) -> Iterator[str]:
        """Yield the entries of the tokenizer's vocabulary as they read in a text, in no order."""
        numbers = self._tokenizer.get_vocab().values()
        yield from self._tokenizer.decode_batch([[number] for number in numbers])

    def window(self, prefix: str) -> int:
        """Return how many tokens of a text fit beside the special tokens and `prefix`."""
        used = self._special + len(self._tokenizer.encode(prefix, add_special_tokens=False))
        return max(1, self._manifest.max_tokens - used)

    def offsets(self, text: str) -> NDArray[np.int32]:
        """Return the character ranges of the tokens of `text`, shape (tokens, 2)."""
        # By slabs, because a tokenizer takes up to a kilobyte of memory a character.
        parts, start = [np.empty((0, 2), dtype=np.int32)], 0
        while start < len(text):
            slab = _slab(text, start)
            offsets = self._tokenizer.encode(slab, add_special_tokens=False).offsets
            parts.append(np.array(offsets, dtype=np.int32).reshape(-1, 2) + np.int32(start))
            start += len(slab)
        return np.concatenate(parts)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of `text`; a text longer than the window is cut at its end.

        Raises:
            EmbedderError: the model fails on it.
        """
        # Stripped as sentence-transformers does, since some tokenizers count a space at the end.
        ids = self._tokenizer.encode(text[:_SLAB_CHARS].strip()).ids or [self._padding]
        limit = self._manifest.max_tokens
        if len(ids) > limit:
            ids = ids[: limit - self._closing] + ids[len(ids) - self._closing :]
        return self._session.vector(ids)


def _slab(text: str, start: int) -> str:
    """Return the next part of `text` to tokenize; it ends between words where it can."""
    end = start + _SLAB_CHARS
    if end < len(text):
        end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end
    return text[start:end]


def _special_tokens(tokenizer: Any) -> tuple[int, int]:
    """Return how many special tokens a text is put between, and how many of them close it."""
    mask = tokenizer.encode("a").special_tokens_mask
    text = [place for place, special in enumerate(mask) if not special]
    if not text:
        return len(mask), len(mask) // 2
    return sum(mask), len(mask) - 1 - text[-1]


def _load_tokenizer(directory: Path, manifest: Manifest) -> tuple[Any, int]:
    """Return the tokenizer, which neither cuts nor pads, and the number it would pad with."""
    # Late: the import takes longer than the start of a command may.
    from tokenizers import Tokenizer  # noqa: PLC0415

    path = directory / manifest.tokenizer
    content = check_digest(path, manifest.files[manifest.tokenizer])
    try:
        tokenizer = Tokenizer.from_str(content.decode())
    # The package raises nothing narrower for a file that it cannot read.
    except Exception as error:
        raise EmbedderError(
            f"{path} cannot be loaded ({error}); export or install the model again"
        ) from error
    padding = (tokenizer.padding or {}).get("pad_id", 0)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, padding
