"""Reads the small files of a sentence-transformers directory: its steps, pooling and prefixes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.files.regular import open_regular
from infinite_memory.search.embedding.manifest import is_text

MODULES = "modules.json"
Prefixes = tuple[str, str]

_MAX_JSON_BYTES = 64 * 1024 * 1024
_MAX_PROMPT_CHARS = 4096
_MAX_NAME_CHARS = 128
_MODE = "pooling_mode"
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


def module_paths(directory: Path) -> dict[str, Path]:
    """Return the steps that a text goes through, in order, with their folders.

    Raises:
        EmbedderError: the list is missing or damaged, or leads out of the directory.
    """
    path = directory / MODULES
    modules = read_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise EmbedderError(f"{path} is not a list of modules; fetch the model again")
    root = directory.resolve()
    paths: dict[str, Path] = {}
    for module in modules:
        step = str(module.get("type")).rpartition(".")[2]
        folder = (root / str(module.get("path", ""))).resolve()
        if not folder.is_relative_to(root):
            raise EmbedderError(f"{path} puts {step} at {folder}, outside of {root}")
        paths[step] = folder
    return paths


def pooling_mode(directory: Path, supported: Collection[str]) -> str:
    """Return the pooling mode of a step's folder, which must be in `supported`.

    Raises:
        EmbedderError: the folder names no mode, several modes, or an unsupported mode.
    """
    path = directory / "config.json"
    config = read_object(path)
    if isinstance(config.get(_MODE), str):
        modes = [str(config[_MODE])]
    else:
        asked = [key for key, value in config.items() if key.startswith(f"{_MODE}_") and value]
        modes = sorted(_short(key) for key in asked)
    if len(modes) != 1 or modes[0] not in supported:
        raise EmbedderError(
            f"{path} asks for {' and '.join(modes) or 'no pooling'}; supported is one of"
            f" {', '.join(supported)}"
        )
    return modes[0]


def _short(key: str) -> str:
    """Return "mean" for "pooling_mode_mean_tokens"."""
    return key.removeprefix(f"{_MODE}_").removesuffix("_tokens").removesuffix("_token")


def prefixes(directory: Path) -> Prefixes:
    """Return the prefixes of the model for questions and for documents.

    They are chosen as in sentence-transformers: the prompts of both names, else the default prompt.

    Raises:
        EmbedderError: the file is damaged, or a prompt is not a usable text.
    """
    path = directory / "config_sentence_transformers.json"
    config = read_object(path, optional=True)
    prompts = config.get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    default = str(config.get("default_prompt_name"))
    return (
        _prompt(path, prompts, (*_QUERY_PROMPTS, default)),
        _prompt(path, prompts, (*_DOCUMENT_PROMPTS, default)),
    )


def _prompt(path: Path, prompts: dict[str, Any], names: tuple[str, ...]) -> str:
    prompt = next((prompts[name] for name in names if prompts.get(name)), "")
    if not is_text(prompt) or len(prompt) > _MAX_PROMPT_CHARS:
        raise EmbedderError(
            f"{path} has the prompt {prompt!r:.80}, which is not a text of at most"
            f" {_MAX_PROMPT_CHARS} characters that UTF-8 has; fetch the model again"
        )
    return prompt


def model_name(directory: Path, config: Mapping[str, Any]) -> str:
    """Return the name of the model from its configuration, its cache, or its folder.

    The name is kept with every vector and stands in names of files. Characters beyond ASCII
    letters, digits and `_.+-` become dashes; at the ends they are removed.
    """
    folder = directory.resolve()
    if folder.parent.name == "snapshots":
        # A cache of fetched models: models--OWNER--NAME/snapshots/COMMIT.
        folder = Path(folder.parent.parent.name.rpartition("--")[2])
    name = Path(str(config.get("_name_or_path") or folder.name)).name
    plain = re.sub(r"[^\w.+-]", "-", name, flags=re.ASCII).strip("-.")
    return plain[:_MAX_NAME_CHARS] or "model"


def number(path: Path, fields: Mapping[str, Any], key: str) -> int:
    """Return a positive whole number out of `fields`, which were read from `path`.

    Raises:
        EmbedderError: it is none.
    """
    value = fields.get(key)
    if type(value) is int and 0 < value <= 10_000_000:
        return value
    raise EmbedderError(f"{path} has {key} {value!r:.80}, which is not a positive integer")


def read_object(path: Path, *, optional: bool = False) -> dict[str, Any]:
    """Return the JSON object in a file, empty where the file is `optional` and missing.

    Raises:
        EmbedderError: the file cannot be read or holds none.
    """
    if optional and not path.exists():
        return {}
    fields = read_json(path)
    if not isinstance(fields, dict):
        raise EmbedderError(f"{path} is not a JSON object; fetch the model again")
    return fields


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        EmbedderError: the file cannot be read, is not regular, is too large, or is not JSON.
    """
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_JSON_BYTES + 1)
    except OSError as error:
        raise EmbedderError(
            f"{path} cannot be read ({error.strerror}); give a sentence-transformers directory"
        ) from error
    if len(content) > _MAX_JSON_BYTES:
        raise EmbedderError(f"{path} is larger than {_MAX_JSON_BYTES} bytes; fetch the model again")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise EmbedderError(f"{path} is not JSON ({error}); fetch the model again") from error
