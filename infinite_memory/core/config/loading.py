"""Load the configuration: a file, then the environment, then the command line; later values win."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from attrs import frozen
from pydantic import ValidationError

from infinite_memory.core.config.sections import (
    Config,
    RepositoryRules,
    ScopeRules,
    Section,
    find_default_home,
)
from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.values.address import masked

CONFIG_FILE = "infinite_memory_config.json"
_PREFIX = "INFINITE_MEMORY_"
PASSPHRASE_VARIABLE = "INFINITE_MEMORY_PASSPHRASE"
"""The variable with the passphrase of backups, which is no setting: it must stand in no file."""

_MAX_FILE_BYTES = 1 << 20
# The settings whose values are sections by name.
_ITEMS: Mapping[str, type[Section]] = {
    "upkeep.scopes": ScopeRules,
    "projects.repositories": RepositoryRules,
}


@frozen(kw_only=True)
class Effective:
    """A configuration, with the origin of every value by dotted key."""

    config: Config
    origins: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, object, str]]:
        """Yield (key, value, origin) for every setting."""
        for key in keys():
            value: object = self.config
            for name in key.split("."):
                value = getattr(value, name)
            yield key, value, self.origins[key]


def keys() -> list[str]:
    """Return every key; keys of a section are dotted."""
    names: list[str] = []
    for name, field in Config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            names.extend(f"{name}.{inner}" for inner in section.model_fields)
        else:
            names.append(name)
    return names


def environment_name(key: str) -> str:
    """Return the environment variable that sets `key`."""
    return _PREFIX + key.replace(".", "_").upper()


def load(
    *,
    home: str | Path | None = None,
    flags: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Effective:
    """Merge the file in the home folder, `environment` and `flags`; later values win.

    `flags` are values by dotted key. Of `environment`, names that begin with INFINITE_MEMORY_
    count. The function does not read the environment of the process.

    Raises:
        ConfigurationError: a key is unknown, or a value cannot be used; the message says where.
    """
    from_environment = _read_environment(environment or {})
    from_flags = {
        key: (value, f"--{re.sub('[_.]', '-', key)}") for key, value in (flags or {}).items()
    }
    layers = {**from_environment, **from_flags}
    if home is not None:
        layers["home"] = (str(home), "--home")
    folder = _check_home(*layers["home"]) if "home" in layers else find_default_home()
    values = {**_read_file(folder / CONFIG_FILE), **layers}
    for key, (_, origin) in values.items():
        _refuse_unknown(key, keys(), origin)
    config = _validate_values(values)
    return Effective(
        config=config,
        origins={key: values[key][1] if key in values else "default" for key in keys()},
    )


_Layer = dict[str, tuple[Any, str]]


def _check_home(value: str, origin: str) -> Path:
    try:
        return Config.model_validate({"home": value}).home
    except ValidationError as error:
        raise ConfigurationError(
            f"{origin}: home = {_show_value(value)}: {_find_reason(error)}"
        ) from error


def _read_environment(environment: Mapping[str, str]) -> _Layer:
    names = {environment_name(key): key for key in keys()}
    layer: _Layer = {}
    for name, value in environment.items():
        if name.startswith(_PREFIX) and name != PASSPHRASE_VARIABLE:
            _refuse_unknown(name, list(names), "the environment")
            layer[names[name]] = (value, name)
    return layer


def _read_file(path: Path) -> _Layer:
    try:
        content = read_regular(path, max_bytes=_MAX_FILE_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path} must hold one JSON object")
    if "home" in document:
        raise ConfigurationError(
            f"{path}: home cannot be set in the file that it locates;"
            f" set {environment_name('home')} or give --home"
        )
    layer: _Layer = {}
    sections = {key.split(".")[0] for key in keys() if "." in key}
    for name, value in document.items():
        if name in sections and isinstance(value, dict):
            layer.update({f"{name}.{inner}": (v, str(path)) for inner, v in value.items()})
        else:
            layer[name] = (value, str(path))
    return layer


def _refuse_unknown(name: str, known: list[str], origin: str) -> None:
    if name in known:
        return
    near = get_close_matches(name, known, n=1, cutoff=0.0)[0]
    raise ConfigurationError(
        f"{origin}: there is no setting {name!r:.100}; the nearest is {near!r}"
    )


def _validate_values(values: _Layer) -> Config:
    nested: dict[str, Any] = {}
    for key, (value, _) in values.items():
        *section, name = key.split(".")
        target = nested.setdefault(section[0], {}) if section else nested
        target[name] = value
    try:
        return Config.model_validate(nested)
    except ValidationError as error:
        raise ConfigurationError(_describe_problem(values, error)) from error


def _describe_problem(values: _Layer, error: ValidationError) -> str:
    """Return where the first value that cannot be used stands, and why not."""
    problem = error.errors()[0]
    *outer, name = [str(place) for place in problem["loc"]]
    key = ".".join([*outer, name])
    setting = next((known for known in values if f"{key}.".startswith(f"{known}.")), None)
    if setting is None:
        # The settings of a section contradict each other; one of them may be a secret.
        origins = (origin for known, (_, origin) in values.items() if known.startswith(f"{key}."))
        return f"{next(origins, 'the configuration')}: {key}: {_find_reason(error)}"
    value, origin = values[setting]
    if setting == key:
        return f"{origin}: {key} = {_show_value(value)}: {_find_reason(error)}"
    if problem["type"] == "extra_forbidden":
        near = get_close_matches(name, _ITEMS[setting].model_fields, n=1, cutoff=0.0)[0]
        place = ".".join(outer)
        return f"{origin}: {place}: there is no setting {name!r:.100}; the nearest is {near!r}"
    return f"{origin}: {key} = {_show_value(problem['input'])}: {_find_reason(error)}"


def _show_value(value: object) -> str:
    """Return a value for a message, shortened and without a password."""
    return f"{masked(value) if isinstance(value, str) else value!r:.200}"


def _find_reason(error: ValidationError) -> str:
    return error.errors()[0]["msg"].removeprefix("Value error, ")
