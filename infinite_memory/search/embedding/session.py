"""A graph in a session of onnxruntime: from the numbers of tokens to a vector."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from infinite_memory.core.config import CPU_PROVIDER
from infinite_memory.core.errors import ConfigurationError, EmbedderError
from infinite_memory.search.embedding.manifest import EMBEDDING
from infinite_memory.search.embedding.pooling import POOLING, unit

SENTENCE = "sentence_embedding"
"""The output of a graph that holds every step of its model, pooling included."""
CPU_ONLY = (CPU_PROVIDER,)
"""The execution providers that are used unless others are configured."""

_TOKENS = ("last_hidden_state", "token_embeddings")
_OUTPUTS = (EMBEDDING, SENTENCE, *_TOKENS)
_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
_TYPES_OF_NUMBERS: dict[str, DTypeLike] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_SEVERITY_ERROR = 3


def load_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry switched off, and return it. Nothing else imports it.

    Otherwise versions from 1.29 on write an id of the machine under the folder of the user, and
    look up a host of their vendor ten seconds after the import, unless they run in a CI.
    """
    # It counts before the import alone: the import already writes the id.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # Late: the import takes longer than the start of a command may.
    import onnxruntime  # noqa: PLC0415

    # For builds without the variable, and for a program that had imported it before.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def check_providers(names: Sequence[str]) -> None:
    """Refuse execution providers that the installed onnxruntime does not have.

    Raises:
        ConfigurationError: there is one; the message lists those that it has.
    """
    if tuple(names) == CPU_ONLY:
        return  # Every onnxruntime has it, and importing the package takes long.
    available = load_onnxruntime().get_available_providers()
    missing = [name for name in names if name not in available]
    if missing:
        raise ConfigurationError(
            f"execution_providers: the installed onnxruntime has no {missing[0]!r:.100}, only"
            f" {', '.join(available)}: choose among these, or install the build of onnxruntime"
            " that has it"
        )


class Session:
    """A session that runs a single text on the calling thread. Any thread may call it."""

    def __init__(self, graph: Path, pooling: str, *, providers: Sequence[str] = CPU_ONLY) -> None:
        """Load `graph`; `pooling` is used if it outputs the vectors of the tokens.

        `providers` are the execution providers of onnxruntime, in order of preference.

        Raises:
            EmbedderError: it cannot be loaded, or has an unsupported input or output.
        """
        self._graph = graph
        self._failures, self._session = _load(graph, providers)
        # Not every provider lets several threads run one session at a time; the processor does.
        is_cpu = tuple(providers) == CPU_ONLY
        self._turn: AbstractContextManager[Any] = nullcontext() if is_cpu else Lock()
        self._inputs = _inputs(graph, self._session)
        self.output = _output(graph, self._session)
        self._pool = None
        if self.output in _TOKENS:
            if pooling not in POOLING:
                raise EmbedderError(
                    f"{graph} outputs {self.output}, but its model has further modules, which this"
                    f" graph leaves out; export a graph that outputs {SENTENCE}"
                )
            self._pool = POOLING[pooling]

    def vector(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the vector of the tokens of a text, shape (dimensions,).

        Raises:
            EmbedderError: the graph fails, or its result is not a vector or not finite.
        """
        values = {_IDS: ids, _MASK: [1] * len(ids), _TYPES: [0] * len(ids)}
        feed = {name: np.array([values[name]], kind) for name, kind in self._inputs.items()}
        try:
            with self._turn:
                output: NDArray[Any] = self._session.run([self.output], feed)[0][0]
        except self._failures as error:
            raise EmbedderError(
                f"{self._graph} failed on a text of {len(ids)} tokens ({error}); export or install"
                " the model again"
            ) from error
        if output.ndim != (1 if self._pool is None else 2):
            raise EmbedderError(
                f"{self._graph} made {self.output} of shape {output.shape} for one text; a vector"
                " for the text or for each of its tokens is supported"
            )
        if self._pool is not None:
            output = self._pool(output.astype(np.float32))
        # A graph that this package exported outputs unit vectors: normalising them again would
        # change their last bits.
        vector = output if self.output == EMBEDDING else unit(output)
        if not np.isfinite(vector).all():
            raise EmbedderError(
                f"{self._graph} made a vector that is not finite; export or install it again"
            )
        return vector


def _inputs(graph: Path, session: Any) -> dict[str, DTypeLike]:
    """Return the number types of the inputs by their names."""
    inputs = session.get_inputs()
    unknown = [i for i in inputs if i.name not in (_IDS, _MASK, _TYPES)]
    if unknown or _IDS not in [i.name for i in inputs]:
        raise EmbedderError(
            f"{graph} takes the inputs {', '.join(i.name for i in inputs)}; supported are {_IDS},"
            f" {_MASK} and {_TYPES}, the first of them required"
        )
    for model_input in inputs:
        is_fixed = any(isinstance(length, int) and length != 1 for length in model_input.shape)
        if len(model_input.shape) != 2 or is_fixed or model_input.type not in _TYPES_OF_NUMBERS:
            raise EmbedderError(
                f"{graph} takes {model_input.name} as {model_input.type} of shape"
                f" {model_input.shape}; supported are integers, with any batch size and length"
            )
    return {model_input.name: _TYPES_OF_NUMBERS[model_input.type] for model_input in inputs}


def _output(graph: Path, session: Any) -> str:
    names = [output.name for output in session.get_outputs()]
    known = next((name for name in _OUTPUTS if name in names), None)
    if known is None:
        raise EmbedderError(
            f"{graph} outputs {', '.join(names)}; one of {', '.join(_OUTPUTS[1:])} is required"
        )
    return known


def _load(path: Path, providers: Sequence[str]) -> tuple[tuple[type[Exception], ...], Any]:
    """Return the errors that onnxruntime raises, and a session that uses the calling thread."""
    onnxruntime = load_onnxruntime()
    binding = onnxruntime.capi.onnxruntime_pybind11_state
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
            # Its own way of falling back to the processor prints to standard output.
            *(str(path), options),
            providers=list(providers),
            enable_fallback=0,
        )
    # The last two are what its Python part raises for providers that cannot be used.
    except (*failures, ValueError, RuntimeError) as error:
        advice = "export or install the model again"
        if tuple(providers) != CPU_ONLY:
            advice += f", or set execution_providers to {CPU_PROVIDER}"
        raise EmbedderError(f"{path} cannot be loaded ({error}); {advice}") from error
    _check_running(session.get_providers(), providers)
    return failures, session


def _check_running(running: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a session without a provider that was asked for, such as one without its driver."""
    lacking = [name for name in wanted if name not in running]
    if lacking:
        raise EmbedderError(
            f"{lacking[0]} could not be started, so only {', '.join(running)} would run the model:"
            f" see what it needs, or set execution_providers to {CPU_PROVIDER}"
        )
