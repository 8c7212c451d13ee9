"""The settings: one section per subject, with a default for every setting."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from infinite_memory.core.clock import find_zone
from infinite_memory.core.config.attachments import Attachments
from infinite_memory.core.config.conversations import ShortTerm
from infinite_memory.core.config.dreamer import Dreamer
from infinite_memory.core.config.projects import Chunking, Projects
from infinite_memory.core.config.section import ScopeName, Section
from infinite_memory.core.config.upkeep import Summaries, Upkeep
from infinite_memory.core.paths import expand_path
from infinite_memory.core.values.address import Address, find_problem, is_folder
from infinite_memory.core.values.memory import GLOBAL

DEFAULT_HOME = Path("~/.infinite-memory")
_OTHER_HOME = "give --home or INFINITE_MEMORY_HOME"
CPU_PROVIDER = "CPUExecutionProvider"
"""The execution provider of onnxruntime that every installation has."""


def find_default_home() -> Path:
    """Return the home folder of the memory where none is configured.

    Raises:
        ConfigurationError: the user has no home folder.
    """
    return expand_path(DEFAULT_HOME, _OTHER_HOME)


def _known_zone(name: str | None) -> str | None:
    if name is not None:
        find_zone(name)
    return name


def _absolute(path: Path) -> Path:
    if problem := find_problem(str(path)):
        raise ValueError(problem)
    path = expand_path(path)
    if not path.is_absolute():
        raise ValueError("give an absolute path, or one that begins with ~")
    return path


def _home(path: Path) -> Path:
    return find_default_home() if path == DEFAULT_HOME else _absolute(path)


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


class Limits(Section):
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


class SearchDefaults(Section):
    """What a search uses where its caller gives no value, except an exhaustive search.

    `limit` is the number of hits. Hits that score below `threshold` are left out; None means the
    built-in threshold, which never leaves out the first five.
    """

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class Logging(Section):
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


class Audit(Section):
    """The record of reads: who was shown which memories, and when.

    It is kept beside the journal if `reads` is true, in a file that is renamed before it is longer
    than `max_bytes`; `backups` earlier files are kept.
    """

    reads: bool = False
    max_bytes: Annotated[int, Field(ge=10_000, le=1 << 40)] = 10_000_000
    backups: Annotated[int, Field(ge=1, le=100)] = 3


class Config(Section):
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

    home: Annotated[Path, AfterValidator(_home)] = Field(
        default=DEFAULT_HOME, validate_default=True
    )
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
    default_scope: ScopeName = GLOBAL
    strict_scopes: bool = False
    conversation_scopes: bool = False
    time_zone: Annotated[str | None, AfterValidator(_known_zone)] = None
    week_start: Literal["monday", "sunday", "saturday"] = "monday"
    search: SearchDefaults = SearchDefaults()
    limits: Limits = Limits()
    logging: Logging = Logging()
    audit: Audit = Audit()
    upkeep: Upkeep = Upkeep()
    summaries: Summaries = Summaries()
    projects: Projects = Projects()
    chunking: Chunking = Chunking()
    attachments: Attachments = Attachments()
    short_term: ShortTerm = ShortTerm()
    dreamer: Dreamer = Dreamer()
