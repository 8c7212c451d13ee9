"""The embedder that runs an exported model on this machine, on its processor by default."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from types import TracebackType
from weakref import WeakSet, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding.manifest import check_digest
from infinite_memory.search.embedding.models import FoundModel, find_model
from infinite_memory.search.embedding.runtime import Runtime
from infinite_memory.search.embedding.scripts import written_in
from infinite_memory.search.embedding.session import CPU_ONLY, check_providers
from infinite_memory.search.text.analyzer import foreign_languages, words
from infinite_memory.search.text.passages import cut_passages

_MAX_WORKERS = 8
# A passage that begins inside a word may have a few more tokens alone than in its text.
_MARGIN = 8
# Tokens a word from which on the words of a language are cut to pieces.
_CUT_TO_PIECES = 2.5


class OnnxEmbedder:
    """An embedder with a model on this machine. It opens no connection.

    The first use loads the model, once for all threads and embedders of a process that run the same
    files by the same providers, and again in a forked process. A text longer than the window is cut
    at its end: embed its passages instead. Closing releases the model, which leaves the memory with
    the last embedder that uses it; a later use loads it again.
    """

    def __init__(
        self,
        model: FoundModel | Path,
        *,
        workers: int | None = None,
        providers: Sequence[str] = CPU_ONLY,
    ) -> None:
        """Open a model that `find_model` returned, or the model at a path.

        `workers` is the number of threads that share a call of `embed`, by default one for every
        processor and at most 8. `providers` are the execution providers of onnxruntime that run
        the model, in order of preference.

        Raises:
            ConfigurationError: the installed onnxruntime lacks one of `providers`.
            EmbedderError: the directory holds no model that this version can use.
        """
        check_providers(providers)
        found = find_model(model) if isinstance(model, Path) else model
        self._directory = found.directory
        self._manifest = found.manifest
        self._model = found.manifest.identity
        self._providers = tuple(providers)
        self._workers = workers or min(os.cpu_count() or 1, _MAX_WORKERS)
        self._lock = Lock()
        self._runtime: Runtime | None = None
        self._pool: ThreadPoolExecutor | None = None
        _open.add(self)

    @property
    def model(self) -> str:
        """The name of the model and a digest of its files and prefixes."""
        return self._model

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._manifest.dimensions

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory; the first use loads it."""
        return self._runtime is not None

    @property
    def max_tokens(self) -> int:
        """The length of the model's window in tokens, with the special tokens at both ends."""
        return self._manifest.max_tokens

    @property
    def background(self) -> float:
        """The mean cosine of a question and a text that are unrelated, as measured once."""
        return self._manifest.background

    def understands(self, text: str) -> bool:
        """Return whether the model's vocabulary covers the writing of `text`, and its language.

        A language other than English is covered if its words are not cut to pieces: words of their
        own language have 1.2 to 1.3 tokens each, Turkish ones in an English vocabulary 3.1.
        """
        if not written_in(text, self._manifest.scripts):
            return False
        if not foreign_languages(text):
            return True
        try:
            tokens = len(self._load().offsets(text))
        except EmbedderError:
            return True  # whoever embeds it is told why it cannot be
        return tokens < _CUT_TO_PIECES * max(len(words(text)), 1)

    def spans(self, text: str) -> NDArray[np.int32]:
        """Cut `text` into overlapping passages that fit the window, shape (passages, 2).

        They overlap by at most a fifth of the window. Cut anywhere but inside a word, a passage has
        the same tokens alone as in its text; inside one, a margin takes up the difference, and what
        might still be cut off at its end stands at the beginning of the next passage too.
        """
        runtime = self._load()
        tokens, window = runtime.offsets(text), runtime.window(self._manifest.document_prefix)
        if len(tokens) > window:
            window = max(1, window - _MARGIN)
        return cut_passages(text, tokens, window=window, overlap=window // 5)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a unit vector for every text, shape (len(texts), dimensions).

        Raises:
            EmbedderError: the model cannot be loaded or run.
        """
        prefix, rows = self._manifest.document_prefix, np.empty((0, self.dimensions), np.float32)
        # The longest first, so that no thread is left alone with one at the end.
        unique = sorted(dict.fromkeys(texts), key=len, reverse=True)
        if unique:
            rows = np.stack(self._run([prefix + text for text in unique]))
        number = {text: row for row, text in enumerate(unique)}
        vectors: NDArray[np.float32] = rows[[number[text] for text in texts]] if unique else rows
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, shape (dimensions,).

        Raises:
            EmbedderError: the model cannot be loaded or run.
        """
        return self._load().vector(self._manifest.query_prefix + text)

    def verify(self) -> None:
        """Hash the files of the model; takes a moment.

        Raises:
            EmbedderError: a file is missing or differs from the recorded file.
        """
        for name, record in self._manifest.files.items():
            check_digest(self._directory / name, record)

    def close(self) -> None:
        """Release the model and the threads. Closing twice does nothing."""
        with self._lock:
            pool, self._pool, self._runtime = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def __enter__(self) -> OnnxEmbedder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, texts: list[str]) -> list[NDArray[np.float32]]:
        runtime = self._load()
        if len(texts) == 1 or self._workers == 1:
            return [runtime.vector(text) for text in texts]
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="embed")
            # Submitted under the lock, so that closing cannot come in between.
            futures = [self._pool.submit(runtime.vector, text) for text in texts]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _load(self) -> Runtime:
        key = (self._directory, self._model, self._providers)
        with self._lock:
            if self._runtime is None:
                with _loading[key]:
                    runtime = _loaded.get(key)
                    if runtime is None:
                        runtime = _loaded[key] = Runtime(
                            self._directory, self._manifest, providers=self._providers
                        )
                self._runtime = runtime
            return self._runtime

    def _reset(self) -> None:
        self._lock = Lock()
        self._runtime = None
        self._pool = None


_Key = tuple[Path, str, tuple[str, ...]]
"""Where a model is, its identity, and the providers that run it."""
_open: WeakSet[OnnxEmbedder] = WeakSet()
_loaded: WeakValueDictionary[_Key, Runtime] = WeakValueDictionary()
_loading: defaultdict[_Key, Lock] = defaultdict(Lock)


def _forget_in_child() -> None:
    """Start afresh after a fork, which neither session nor threads nor a held lock survive."""
    _loaded.clear()
    _loading.clear()
    for embedder in list(_open):
        embedder._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
