"""The configuration, merged from a file, the environment and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from infinite_memory.errors import ConfigurationError
from infinite_memory.model.address import Address, find_problem, is_folder, masked
from infinite_memory.model.memory import GLOBAL

__all__ = [
    "CONFIG_FILE",
    "CPU_PROVIDER",
    "DEFAULT_HOME",
    "PASSPHRASE_VARIABLE",
    "Audit",
    "Config",
    "Effective",
    "Limits",
    "Logging",
    "SearchDefaults",
    "environment_name",
    "keys",
    "load",
]

CONFIG_FILE = "infinite_memory_config.json"
DEFAULT_HOME = Path("~/.infinite-memory")
CPU_PROVIDER = "CPUExecutionProvider"
"""The execution provider of onnxruntime that every installation has."""

_PREFIX = "INFINITE_MEMORY_"
PASSPHRASE_VARIABLE = "INFINITE_MEMORY_PASSPHRASE"
"""The variable with the passphrase of backups, which is no setting: it must stand in no file."""

_MAX_FILE_BYTES = 1 << 20


def _known_zone(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("no such time zone; use an IANA name such as Europe/Berlin") from error
    return name


def _absolute(path: Path) -> Path:
    if problem := find_problem(str(path)):
        raise ValueError(problem)
    path = path.expanduser()
    if not path.is_absolute():
        raise ValueError("give an absolute path, or one that begins with ~")
    return path


def _address(store: str | None) -> str | None:
    if store is None:
        return None
    if problem := find_problem(store):
        raise ValueError(problem)
    return str(_absolute(Path(store))) if is_folder(store) else Address(store)


def _names(value: object) -> tuple[str, ...]:
    """Return a list of names; in a variable of the environment there are commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ValueError("give a list of names")
    names = tuple(dict.fromkeys(name.strip() for name in listed))
    if not names or "" in names:
        raise ValueError("give at least one name, and no empty name")
    return names


_Path = Annotated[Path, AfterValidator(_absolute)]


class _Section(BaseModel):
    # A refused value may be an address with a password.
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_max_length=4096, hide_input_in_errors=True
    )


class Limits(_Section):
    """The maximum sizes of a memory, in bytes of UTF-8, and the limits of a server.

    - `calls_per_minute`: the tool calls that a key may make, or all clients of a server together if
      it has no keys; 0 for any number. `conversation_calls_per_minute`: those with the same
      `conversation_id`.
    - `call_seconds`: how long a client of an HTTP server waits for a call.
    """

    max_text_bytes: Annotated[int, Field(ge=1, le=64 << 20)] = 1 << 20
    max_context_bytes: Annotated[int, Field(ge=2, le=8 << 20)] = 64 << 10
    calls_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = 1000
    conversation_calls_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    call_seconds: Annotated[float, Field(ge=1, le=3600)] = 60


class SearchDefaults(_Section):
    """What a search uses where its caller gives no value, except an exhaustive search.

    `limit` is the number of hits. Hits that score below `threshold` are left out; None means the
    built-in threshold, which never leaves out the first five.
    """

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class Logging(_Section):
    """The log of the command line and of the server.

    - `level`: by default "warning", and "info" for a server over HTTP. At "info" a server logs a
      line for every call.
    - `format`: "json", an object a line, or "text". By default servers and files have "json", and
      commands and terminals "text".
    - `file`: a server writes to it and to standard error, a command to it alone. Before it is
      longer than `max_bytes` it is renamed, and `backups` earlier files are kept; 0 for any length.
    - `texts`: whether texts of memories, questions and keys may stand in the log.
    """

    level: Literal["debug", "info", "warning", "error"] | None = None
    format: Literal["json", "text"] | None = None
    file: _Path | None = None
    max_bytes: Annotated[int, Field(ge=0, le=1 << 40)] = 10_000_000
    backups: Annotated[int, Field(ge=1, le=100)] = 3
    texts: bool = False


class Audit(_Section):
    """The record of reads: who was shown which memories, and when.

    It is kept beside the journal if `reads` is true, in a file that is renamed before it is longer
    than `max_bytes`; `backups` earlier files are kept.
    """

    reads: bool = False
    max_bytes: Annotated[int, Field(ge=10_000, le=1 << 40)] = 10_000_000
    backups: Annotated[int, Field(ge=1, le=100)] = 3


class Config(_Section):
    """All settings, with a default for every setting.

    The constructor raises pydantic's ValidationError, a ValueError; `load` raises a
    ConfigurationError that names the source of the value.

    - `store`: the target of `MemoryStore.open`, an absolute path or an address; by default the
      SQLite database in `home`. The repr of the configuration hides the password of an address.
    - `storage`: "managed" runs a private MongoDB server with its data in `home`, unless `store` is
      set. `mongod` is the path of the server program; by default it is looked for.
    - `embedder`: "bundled", "multilingual", or the path of a model. `query_prefix` and
      `document_prefix` precede every question and every text of a sentence-transformers model; by
      default the model directory decides.
    - `former_embedder`, with its prefixes: the previous model, which answers until `embedder` has
      embedded every memory; by default the bundled model.
    - `execution_providers`: the execution providers of onnxruntime that run the model, in order of
      preference. Only the default, the processor, is tested.
    - `conversation_scopes`: whether a memory with a conversation and without a scope goes into a
      scope of that conversation, whose parent is `default_scope`.
    - `time_zone`: by default that of the machine. `week_start`: the first day of "last week".
    """

    home: _Path = Field(default=DEFAULT_HOME, validate_default=True)
    store: Annotated[str | None, AfterValidator(_address)] = None
    storage: Literal["embedded", "managed"] = "embedded"
    mongod: _Path | None = None
    embedder: str = "bundled"
    query_prefix: str | None = None
    document_prefix: str | None = None
    former_embedder: str | None = None
    former_query_prefix: str | None = None
    former_document_prefix: str | None = None
    execution_providers: Annotated[tuple[str, ...], BeforeValidator(_names)] = (CPU_PROVIDER,)
    default_scope: Annotated[str, Field(min_length=1, max_length=128)] = GLOBAL
    strict_scopes: bool = False
    conversation_scopes: bool = False
    time_zone: Annotated[str | None, AfterValidator(_known_zone)] = None
    week_start: Literal["monday", "sunday", "saturday"] = "monday"
    search: SearchDefaults = SearchDefaults()
    limits: Limits = Limits()
    logging: Logging = Logging()
    audit: Audit = Audit()


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
        if isinstance(section, type) and issubclass(section, _Section):
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
    from_environment = _environment_layer(environment or {})
    from_flags = {
        key: (value, f"--{key.replace('_', '-')}") for key, value in (flags or {}).items()
    }
    layers = {**from_environment, **from_flags}
    if home is not None:
        layers["home"] = (str(home), "--home")
    folder = Config(home=_checked_home(*layers["home"])).home if "home" in layers else Config().home
    values = {**_file_layer(folder / CONFIG_FILE), **layers}
    for key, (_, origin) in values.items():
        _refuse_unknown(key, keys(), origin)
    config = _validate(values)
    return Effective(
        config=config,
        origins={key: values[key][1] if key in values else "default" for key in keys()},
    )


_Layer = dict[str, tuple[Any, str]]


def _checked_home(value: str, origin: str) -> Path:
    try:
        return Config.model_validate({"home": value}).home
    except ValidationError as error:
        raise ConfigurationError(
            f"{origin}: home = {_show_value(value)}: {_reason(error)}"
        ) from error


def _environment_layer(environment: Mapping[str, str]) -> _Layer:
    names = {environment_name(key): key for key in keys()}
    layer: _Layer = {}
    for name, value in environment.items():
        if name.startswith(_PREFIX) and name != PASSPHRASE_VARIABLE:
            _refuse_unknown(name, list(names), "the environment")
            layer[names[name]] = (value, name)
    return layer


def _file_layer(path: Path) -> _Layer:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    try:
        document = json.loads(content) if len(content) <= _MAX_FILE_BYTES else None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path} must hold one JSON object of at most 1 MiB")
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


def _validate(values: _Layer) -> Config:
    nested: dict[str, Any] = {}
    for key, (value, _) in values.items():
        *section, name = key.split(".")
        target = nested.setdefault(section[0], {}) if section else nested
        target[name] = value
    try:
        return Config.model_validate(nested)
    except ValidationError as error:
        key = ".".join(str(place) for place in error.errors()[0]["loc"])
        value, origin = values.get(key, (None, "the configuration"))
        raise ConfigurationError(
            f"{origin}: {key} = {_show_value(value)}: {_reason(error)}"
        ) from error


def _show_value(value: object) -> str:
    """Return a value for a message, shortened and without a password."""
    return f"{masked(value) if isinstance(value, str) else value!r:.200}"


def _reason(error: ValidationError) -> str:
    return error.errors()[0]["msg"].removeprefix("Value error, ")
