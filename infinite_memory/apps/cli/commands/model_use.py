"""The command `model use`, which changes the embedding model of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, progress_bars
from infinite_memory.apps.cli.settings import load_settings, set_up
from infinite_memory.core.config import CONFIG_FILE, Config
from infinite_memory.core.errors import ConfigurationError, EmbedderError
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.embedding.models import BUNDLED, ENGLISH
from infinite_memory.store.memory_store import MemoryStore

_BAR = "Embedding"
# Some seconds of work, after which the bar moves.
_STEP_MEMORIES = 64
_KEYS = ("embedder", "query_prefix", "document_prefix")


def change_settings(home: Path, changes: Mapping[str, str | None]) -> Path:
    """Set the keys of `changes` in the file of `home`, without keys that are None; return its path.

    All further settings are kept. The file is replaced as a whole, or its target if it is a link.
    The caller has read the file without an error.

    Raises:
        ConfigurationError: the file cannot be read or written; nothing was changed.
    """
    # A link stays a link: people keep their settings in another folder.
    path = (home / CONFIG_FILE).resolve()
    try:
        settings = json.loads(read_regular(path)) if path.exists() else {}
        changed = {**settings, **changes}
        kept = {key: value for key, value in changed.items() if value is not None}
        if kept != settings:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            content = json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
            write_atomically(path, content.encode(), mode=mode)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} cannot be changed ({error}): make it writable, or set"
            f" {', '.join(changes)} in it by hand"
        ) from error
    return path


@click.command("use")
@click.argument("name", type=click.Choice([BUNDLED, ENGLISH]))
@common_options
@click.pass_context
def use(context: click.Context, /, name: str) -> None:
    """Change to another model of the package: write the setting, and embed every memory.

    The former model answers until every memory is embedded. You may interrupt this and start it
    again; repeated, it changes nothing.
    """
    refuse_scopes(context, "model use")
    _check_origins(context)
    config = set_up(context)
    is_changed = config.embedder != name
    if is_changed:
        change_settings(config.home, {**_describe_former(context, config, name), "embedder": name})
    with open_store(context) as store:
        embedded = embed_pending(store)
        model, answering = store.models.configured, store.models.answering
    if wants_json(context):
        emit_json(
            {"model": model, "changed": is_changed, "embedded": embedded, "answering": answering}
        )
        return
    sentences = [f"Embedded {format_count(embedded, 'memory', 'memories')}."] if embedded else []
    sentences.append(f"{answering} answers.")
    if is_changed:
        sentences.append("Restart the programs that have this memory open.")
    emit_lines([Line([(" ".join(sentences), "")])])


def embed_pending(store: MemoryStore) -> int:
    """Embed every pending memory, with a bar on a terminal; return how many were embedded."""
    embedded = 0
    with progress_bars(_BAR) as update:
        total = 0
        if update is not None:
            total = store.models.pending(limit=2**62)
            update(_BAR, 0, total)
        while batch := store.models.catch_up(limit=_STEP_MEMORIES):
            embedded += batch
            if update is not None:
                update(_BAR, embedded, max(total, embedded))
    return embedded


def _check_origins(context: click.Context) -> None:
    """Refuse a change that the environment would override.

    Raises:
        ConfigurationError: a variable sets the model or its prefixes.
    """
    for key, value, origin in load_settings(context).rows():
        if key in _KEYS and origin.startswith("INFINITE_MEMORY_"):
            raise ConfigurationError(
                f"{origin}={value!s:.200} overrides the settings file: remove the"
                " variable, and try again"
            )


def _describe_former(context: click.Context, config: Config, name: str) -> dict[str, str | None]:
    """Return the settings that name the model which answers until `name` has embedded everything.

    It is the configured model, or the former model if that has not embedded everything itself.
    """
    former = (config.former_embedder, config.former_query_prefix, config.former_document_prefix)
    if not _is_changing(context):
        former = (config.embedder, config.query_prefix, config.document_prefix)
    # A model of the package is the former model by default.
    is_named = former[0] not in (BUNDLED, ENGLISH, name)
    embedder, *prefixes = former if is_named else (None, None, None)
    return {
        "query_prefix": None,
        "document_prefix": None,
        "former_embedder": embedder,
        "former_query_prefix": prefixes[0],
        "former_document_prefix": prefixes[1],
    }


def _is_changing(context: click.Context) -> bool:
    """Return whether a change to the configured model is under way."""
    try:
        with open_store(context) as store:
            return store.models.answering != store.models.configured
    except EmbedderError:
        return True  # A model that cannot be opened cannot answer either.
