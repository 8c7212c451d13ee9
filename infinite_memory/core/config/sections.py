"""The settings: one section per subject, with a default for every setting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from infinite_memory.core.clock import find_zone
from infinite_memory.core.paths import expand_path
from infinite_memory.core.values.address import (
    Address,
    check_engine,
    check_issuer,
    find_problem,
    is_folder,
)
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Sensitivity, find_name_problem, fold_name

_MAX_SCOPE_CHARS = 128


def _check_scope(name: str) -> str:
    checked = check_label(name, "scope", max_chars=_MAX_SCOPE_CHARS)
    if problem := find_name_problem(checked):
        raise ValueError(f"it cannot name a scope: {problem}; give the name of one scope")
    return checked


def _check_pattern(name: str) -> str:
    checked = check_label(name, "scope", max_chars=_MAX_SCOPE_CHARS)
    if any("*" in part[:-1] for part in checked.split("/")):
        raise ValueError(f"{name!r:.200}: a * stands at the end of a part, as in team/* or *")
    return checked


ScopeName = Annotated[str, AfterValidator(_check_scope)]
"""The type of a setting that names a scope, which need not exist."""


class Section(BaseModel):
    """A group of settings."""

    # A refused value may be an address with a password.
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_max_length=4096, hide_input_in_errors=True
    )


def _parse_mapping(value: object) -> object:
    """Return a mapping; a variable of the environment holds it as a JSON object."""
    return json.loads(value) if isinstance(value, str) else value


class Attachments(Section):
    """The limits of attachments.

    `max_bytes` is the most bytes of a file that are stored with a memory. In base64 they take a
    third more, which must fit into `limits.max_text_bytes`.
    """

    max_bytes: Annotated[int, Field(ge=1, le=48 << 20)] = 700 << 10


_Weight = Annotated[float, Field(ge=0, le=1000)]
_Number = Annotated[int, Field(ge=0, le=100)]


class ShortTerm(Section):
    """The constants of short-term memory; their formulas are in `features.chats.short_term`.

    - `keyword_factor`, `counted_words`, `prior_memories`: the scale of the weight of a keyword, the
      number of words of which a word of a longer message counts as one, and the number of memories
      without the word that every conversation is taken to begin with.
    - `role_weights`: what a keyword counts by the role of the message; 1 for a further role.
    - `most_keywords`, `least_weight`: how many keywords are kept, and the least weight of one.
    - `most_penalty`, `penalty_per_millisecond`: the penalty of a memory that is infinitely old, and
      how fast it is reached.
    - `threshold`: the least relevance of a memory that comes up.
    - `top`, `next`, `flashbacks`: how many memories are chosen in each tier. `top_gain` and
      `next_gain` are added to the activation of those that are chosen.
    - `recent_minutes`: nothing so recent comes up. `apart_minutes`: nothing so near in time to a
      memory that was chosen before it.
    - `keep`, `keep_days`, `least_vitality`: the cleanup archives what is older than `keep_days`, or
      whose activation less penalty is under `least_vitality`, and always keeps `keep` memories of a
      conversation.
    """

    keyword_factor: _Weight = 5.0
    counted_words: Annotated[int, Field(ge=1, le=100_000)] = 30
    prior_memories: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    role_weights: Annotated[Mapping[str, _Weight], BeforeValidator(_parse_mapping)] = {
        "user": 2.7,
        "assistant": 2.0,
        "system": 1.0,
    }
    most_keywords: Annotated[int, Field(ge=1, le=1000)] = 72
    least_weight: _Weight = 0.8
    most_penalty: _Weight = 15.0
    penalty_per_millisecond: Annotated[float, Field(ge=0, le=1)] = 2e-9
    threshold: Annotated[float, Field(ge=-1000, le=1000)] = 5.0
    top: _Number = 2
    next: _Number = 1
    flashbacks: _Number = 2
    top_gain: _Weight = 5.0
    next_gain: _Weight = 2.0
    recent_minutes: Annotated[float, Field(ge=0, le=1_000_000)] = 20.0
    apart_minutes: Annotated[float, Field(ge=0, le=1_000_000)] = 10.0
    keep: Annotated[int, Field(ge=0, le=1_000_000)] = 512
    keep_days: Annotated[float, Field(gt=0, le=100_000)] = 365.0
    least_vitality: Annotated[float, Field(ge=-1000, le=1000)] = -5.0


class JudgeName(StrEnum):
    """Who judges whether two memories belong together."""

    LOCAL = "local"
    """The built-in judge, which compares vectors and words on this machine."""
    ENDPOINT = "endpoint"
    """The model behind `summaries.endpoint`."""


class Dreamer(Section):
    """The dreamer, which links memories in the background and writes summaries of topics.

    - `enabled`: whether the worker dreams; `infinite-memory dream` runs a cycle in any case.
    - `every_minutes`: how often the worker runs a cycle.
    - `judge`: "local", or "endpoint" for the model behind `summaries.endpoint`.
    """

    enabled: bool = True
    every_minutes: Annotated[int, Field(ge=1, le=100_000)] = 30
    judge: JudgeName = JudgeName.LOCAL


_PREFIX = "repo/"
_NAME = re.compile(r"(?!~)[\w.~+%-]+(?:/[\w.~+%-]+)+")


def _check_names(rules: Mapping[str, RepositoryRules]) -> Mapping[str, RepositoryRules]:
    """Refuse a name that is that of no repository: its rules would be passed over in silence."""
    seen: set[str] = set()
    for name in rules:
        folded = _fold_title(name)
        if not _NAME.fullmatch(folded):
            raise ValueError(
                f"{name!r:.200} is no name of a repository: give HOST/OWNER/NAME, such as"
                " github.com/octo/apollo, or local/FOLDER/NAME for one without a remote"
            )
        if folded in seen:
            raise ValueError(f"{name!r:.200} is named twice: give it once")
        seen.add(folded)
    return rules


def _parse_patterns(value: object) -> tuple[str, ...]:
    """Return a list of patterns; in a variable of the environment there are commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
        raise ValueError('give a list of patterns, such as ["*.env", "secrets/*"]')
    patterns = tuple(dict.fromkeys(item.strip() for item in listed))
    if any(not item or item.strip("*?/") == "" for item in patterns):
        raise ValueError("a pattern names something, such as *.env; it cannot stand for every file")
    return patterns


_Patterns = Annotated[tuple[str, ...], BeforeValidator(_parse_patterns)]


class RepositoryRules(Section):
    """The rules of a repository.

    - `enabled`: whether anything of it is stored. `sensitivity`: that of its scope, when it is
      created.
    - `retention_days`: its memories are archived at that age.
    - `exclude`: patterns of files, beside those of `projects.exclude`, whose names and contents
      are never stored.
    """

    enabled: bool = True
    sensitivity: Sensitivity | None = None
    retention_days: Annotated[int, Field(ge=1, le=100_000)] | None = None
    exclude: _Patterns = ()


class Chunking(Section):
    """When a session is cut into chunks.

    - `minutes`: the length of work on a single topic after which the next pause is a cut.
    - `files`: after so many changed files, a request that is mostly about other files is a cut.
    - `pause_minutes`: a pause so long is a cut.
    - `topic_distance`: how far a request must be from the topic before it, as 1 minus the cosine
      of their embeddings, to be a jump.
    """

    minutes: Annotated[float, Field(ge=1, le=1440)] = 10
    files: Annotated[int, Field(ge=1, le=1000)] = 3
    pause_minutes: Annotated[float, Field(ge=1, le=100_000)] = 45
    topic_distance: Annotated[float, Field(ge=0, le=2)] = 0.4


class Projects(Section):
    """The memory of what was done in repositories.

    - `sessions`: whether the sessions that hooks note are cut into chunks, and the statements
      in them stored as facts.
    - `exclude`: patterns of files whose names and contents are never stored in chunks.
    - `repositories`: rules by the name of a repository, "HOST/OWNER/NAME".
    """

    sessions: bool = True
    exclude: _Patterns = ("*.env", ".env.*", "*.key", "*.pem", "*.p12", "id_rsa*", "id_ed25519*")
    repositories: Annotated[
        Mapping[str, RepositoryRules],
        BeforeValidator(_parse_mapping),
        AfterValidator(_check_names),
    ] = {}

    def rules_of(self, scope: str) -> RepositoryRules:
        """Return the rules of the repository with that scope, with every pattern it excludes."""
        wanted = _fold_title(scope)
        rules = next(
            (rules for name, rules in self.repositories.items() if _fold_title(name) == wanted),
            RepositoryRules(),
        )
        return rules.model_copy(update={"exclude": (*self.exclude, *rules.exclude)})


def _fold_title(name: str) -> str:
    return fold_name(name).removeprefix(_PREFIX)


def _split_words(value: object) -> object:
    """Return a list of words; in a variable of the environment there are commas between them."""
    if not isinstance(value, str):
        return value
    return [name.strip() for name in value.split(",") if name.strip()]


class Hooks(Section):
    """What enters a session of a client unasked.

    `moments`: "start" for the briefing, "prompt" for what helps with a prompt and reminders that
    come up at it, "failure" for how the error of a command was solved before, and "file" for what
    names a file that is about to change.
    """

    moments: Annotated[
        tuple[Literal["start", "prompt", "failure", "file"], ...], BeforeValidator(_split_words)
    ] = ("start", "prompt", "failure", "file")


class Retention(StrEnum):
    """How much the upkeep archives: nothing, old and unused memories, or more of them."""

    KEEP_ALL = "keep_all"
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"


def _check_endpoint(url: str | None) -> str | None:
    if url is not None and not url.startswith(("http://", "https://")):
        raise ValueError("give the base URL of the service, such as http://127.0.0.1:11434/v1")
    return None if url is None else url.rstrip("/")


class ScopeRules(Section):
    """The rules of the upkeep for a scope.

    - `retention`: in place of `upkeep.retention`.
    - `include`: False leaves the scope out of every job, True includes a private scope.
    - `keep_days`: a time to live. Older memories are archived, whatever they are; with `erase` they
      are erased for good instead.
    - `max_memories`: with more current memories, the least valuable are archived.
    - `retired`: everything in the scope is exported and then archived.
    """

    retention: Retention | None = None
    include: bool | None = None
    keep_days: Annotated[int, Field(ge=1, le=100_000)] | None = None
    erase: bool = False
    max_memories: Annotated[int, Field(ge=1)] | None = None
    retired: bool = False

    @model_validator(mode="after")
    def _check_erase(self) -> ScopeRules:
        if self.erase and self.keep_days is None:
            raise ValueError("erase needs keep_days, the age at which memories are erased")
        return self


def _refuse_repeats(rules: Mapping[str, ScopeRules]) -> Mapping[str, ScopeRules]:
    """Refuse two rules for one scope: letter case does not count in its name."""
    seen: set[str] = set()
    for name in rules:
        if fold_name(name) in seen:
            raise ValueError(f"{name!r:.200} is named twice: give it once")
        seen.add(fold_name(name))
    return rules


class Upkeep(Section):
    """The upkeep of a store that grows and ages.

    - `worker`: whether a server does the upkeep in the background.
    - `retention`: "keep_all", "moderate" or "aggressive". `min_age_weeks`: nothing younger is
      archived or summarised by a retention.
    - `quiet_hour`: the hour of the local time, 0 to 23, in which heavy jobs begin.
    - `private_scopes`: whether private scopes are included.
    - `max_memories`, `max_megabytes`: with more current memories, or a larger store, the least
      valuable memories are archived.
    - `daily_backups`, `weekly_backups`: how many scheduled backups are kept; 0 and 0 make none.
    - `scopes`: rules by the name of a scope, see `ScopeRules`.
    """

    worker: bool = True
    retention: Retention = Retention.MODERATE
    min_age_weeks: Annotated[int, Field(ge=1, le=5000)] = 4
    quiet_hour: Annotated[int, Field(ge=0, le=23)] = 3
    private_scopes: bool = False
    max_memories: Annotated[int, Field(ge=1)] | None = None
    max_megabytes: Annotated[int, Field(ge=1)] | None = None
    daily_backups: Annotated[int, Field(ge=0, le=1000)] = 7
    weekly_backups: Annotated[int, Field(ge=0, le=1000)] = 4
    scopes: Annotated[
        Mapping[ScopeName, ScopeRules],
        BeforeValidator(_parse_mapping),
        AfterValidator(_refuse_repeats),
    ] = {}

    def rules_of(self, scope: str) -> ScopeRules:
        """Return the rules of a scope, without an effect if it has none."""
        folded = fold_name(scope)
        named = (rules for name, rules in self.scopes.items() if fold_name(name) == folded)
        return next(named, ScopeRules())


class Summaries(Section):
    """Who writes summaries: the built-in summariser, or a model behind an endpoint.

    - `endpoint`: the base URL of a service with the API of OpenAI, such as
      "http://127.0.0.1:11434/v1"; None means the built-in summariser, which is local.
    - `model`: the name of the model there. `api_key`: sent as a bearer token.
    - `timeout_seconds`: how long an answer is waited for.
    """

    endpoint: Annotated[str | None, AfterValidator(_check_endpoint)] = None
    model: str | None = None
    api_key: SecretStr | None = None
    timeout_seconds: Annotated[float, Field(ge=1, le=3600)] = 60

    @model_validator(mode="after")
    def _check_model(self) -> Summaries:
        if self.endpoint is not None and self.model is None:
            raise ValueError("endpoint needs model, the name of the model that writes summaries")
        return self


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


def _check_zone(name: str | None) -> str | None:
    if name is not None:
        find_zone(name)
    return name


def _check_absolute(path: Path) -> Path:
    if problem := find_problem(str(path)):
        raise ValueError(problem)
    path = expand_path(path)
    if not path.is_absolute():
        raise ValueError("give an absolute path, or one that begins with ~")
    return path


def _resolve_home(path: Path) -> Path:
    return find_default_home() if path == DEFAULT_HOME else _check_absolute(path)


def _resolve_address(store: str | None) -> str | None:
    if store is None:
        return None
    if problem := find_problem(store):
        raise ValueError(problem)
    return str(_check_absolute(Path(store))) if is_folder(store) else Address(store)


def _split_names(value: object) -> tuple[str, ...]:
    """Return a list of names; in a variable of the environment there are commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ValueError("give a list of names")
    names = tuple(dict.fromkeys(name.strip() for name in listed))
    if not names or "" in names:
        raise ValueError("give at least one name, and no empty name")
    return names


_Path = Annotated[Path, AfterValidator(_check_absolute)]


class BackupPlaces(Section):
    """Where backups go, and the passphrase that they are encrypted with.

    - `folder`: the folder of the backups, by default `backups` in the home folder. It is never
      created, since the disk that it should be on may not be mounted.
    - `passphrase_file`: a file with a passphrase on its only line. Every backup is encrypted with
      it, and encrypted backups are read with it, where a call gives no passphrase.
    """

    folder: _Path | None = None
    passphrase_file: _Path | None = None


class Limits(Section):
    """The limits of a memory, `max_text_bytes` and `max_context_bytes`, and those of a server.

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


class OAuth(Section):
    """The identity provider with which clients of a server over HTTP sign in.

    - `issuer`: its URL, letter by letter as it stands in its tokens; None for no sign-in.
    - `audience`: whom its tokens must be made for, such as the URL of the server.
    - `claim`: the claim of a token that names an access key, whose rights and scopes it has.
    - `ask_for`: the scopes of OAuth that clients are told to ask the identity provider for.
    """

    issuer: Annotated[str, AfterValidator(check_issuer)] | None = None
    audience: Annotated[str, Field(min_length=1)] | None = None
    claim: Annotated[str, Field(min_length=1)] = "sub"
    ask_for: Annotated[tuple[str, ...], BeforeValidator(_split_words)] = ()

    @model_validator(mode="after")
    def _check_audience(self) -> OAuth:
        if self.issuer is not None and self.audience is None:
            raise ValueError("issuer needs audience, whom its tokens must be made for")
        return self


class SearchDefaults(Section):
    """What a search uses where its caller gives no value, except an exhaustive search.

    `limit` is the number of hits. Hits that score below `threshold` are left out; None means the
    built-in threshold, which never leaves out the first five. `engine` is the address of a
    PostgreSQL database that finds the candidates in place of the built-in index.
    """

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    engine: Annotated[str | None, AfterValidator(check_engine)] = None


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


class SecretPolicy(StrEnum):
    """What becomes of a secret that comes into a scope."""

    MASK = "mask"
    """A mask such as `[secret: AWS access key]` takes its place."""
    REFUSE = "refuse"
    """Nothing is stored, and the error names the kind and the place."""
    ALLOW = "allow"
    """It is kept, and nothing is said of it."""


class Config(Section):
    """All settings, with a default for every setting.

    The constructor raises pydantic's ValidationError, a ValueError; `load` raises a
    ConfigurationError that names the source of the value.

    - `store`: the target of `MemoryStore.open`, an absolute path or an address; by default the
      SQLite database in `home`. The repr of the configuration hides the password of an address.
    - `storage`: "managed" runs a private MongoDB server with its data in `home`, unless `store` is
      set. `mongod` is the path of the server program; by default it is looked for.
    - `embedder`: "bundled", "english", or the path of a model. `query_prefix` and
      `document_prefix` precede every question and every text of a sentence-transformers model; by
      default the model directory decides.
    - `former_embedder`, with `former_query_prefix` and `former_document_prefix`: the model before,
      which answers until `embedder` has embedded every memory; by default one of the package.
    - `execution_providers`: those of onnxruntime, by preference. Only the default is tested.
    - `strict_scopes`: whether a write into a scope that does not exist is refused.
    - `conversation_scopes`: whether a memory with a conversation and without a scope goes into a
      scope of that conversation, whose parent is `default_scope`.
    - `secrets`: what becomes of secrets, by scopes or patterns such as "team/*"; the first that
      matches counts. Without one they are masked in what hooks, sessions and imports bring in, and
      kept, with a remark, in what somebody stores.
    - `time_zone`: by default that of the machine. `week_start`: the first day of "last week".
    """

    home: Annotated[Path, AfterValidator(_resolve_home)] = Field(
        default=DEFAULT_HOME, validate_default=True
    )
    store: Annotated[str | None, AfterValidator(_resolve_address)] = None
    storage: Literal["embedded", "managed"] = "embedded"
    mongod: _Path | None = None
    embedder: str = "bundled"
    query_prefix: str | None = None
    document_prefix: str | None = None
    former_embedder: str | None = None
    former_query_prefix: str | None = None
    former_document_prefix: str | None = None
    execution_providers: Annotated[tuple[str, ...], BeforeValidator(_split_names)] = (CPU_PROVIDER,)
    default_scope: ScopeName = GLOBAL
    strict_scopes: bool = False
    conversation_scopes: bool = False
    secrets: Annotated[
        Mapping[Annotated[str, AfterValidator(_check_pattern)], SecretPolicy],
        BeforeValidator(_parse_mapping),
    ] = {}
    time_zone: Annotated[str | None, AfterValidator(_check_zone)] = None
    week_start: Literal["monday", "sunday", "saturday"] = "monday"
    search: SearchDefaults = SearchDefaults()
    limits: Limits = Limits()
    oauth: OAuth = OAuth()
    logging: Logging = Logging()
    audit: Audit = Audit()
    upkeep: Upkeep = Upkeep()
    backup: BackupPlaces = BackupPlaces()
    summaries: Summaries = Summaries()
    projects: Projects = Projects()
    hooks: Hooks = Hooks()
    chunking: Chunking = Chunking()
    attachments: Attachments = Attachments()
    short_term: ShortTerm = ShortTerm()
    dreamer: Dreamer = Dreamer()
