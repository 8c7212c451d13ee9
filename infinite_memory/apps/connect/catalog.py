"""The clients, a row per client: where they list their servers, and in which form.

The paths and forms follow the clients' documentation; docs/guides/clients.md says which
were tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.jsonc import Extra
from infinite_memory.core.errors import InvalidInput


class Syntax(StrEnum):
    """The language of a client's file."""

    JSON = "json"
    TOML = "toml"


@frozen(kw_only=True)
class Client:
    """A client and its file.

    `files` are templates of `Platform.resolve`: the first that exists is used, else the first.
    `override` comes before them if its variable is set. `windows_files` replace `files` there.
    `markers` are paths, and `commands` names of programs, that show that the client is installed.
    `accepts` is what the client reads beyond JSON in its files; one that meets anything else drops
    the file. `container` is the key under which the file lists its servers. `command_type` and
    `url_type` are the value of `type` in an entry, None where the client wants none; `url_key` is
    None where the file cannot name a server by its URL. `headers_key` holds the headers that the
    client sends to a URL. A header takes its value from the environment by a `reference`,
    "${env:{}}" for example, or the key `bearer_variable_key` names the variable; with neither, the
    file of the client has to hold the access key itself. Where `joins_command`, `command` is a list
    with the arguments. `env_key` holds the variables of a command, and `added` is in every entry.
    """

    name: str
    title: str
    syntax: Syntax = Syntax.JSON
    accepts: frozenset[Extra] = frozenset()
    container: str = "mcpServers"
    override: str | None = None
    files: tuple[str, ...]
    windows_files: tuple[str, ...] = ()
    project_file: str | None = None
    markers: tuple[str, ...]
    commands: tuple[str, ...] = ()
    command_type: str | None = None
    joins_command: bool = False
    env_key: str = "env"
    added: Mapping[str, Any] = field(factory=dict)
    url_key: str | None = "url"
    url_type: str | None = None
    headers_key: str = "headers"
    reference: str | None = None
    bearer_variable_key: str | None = None
    next_step: str

    def form(self, entry: ServerEntry) -> dict[str, Any]:
        """Return an entry in the form of this client.

        Raises:
            InvalidInput: the file of this client cannot name a server by its URL, or cannot take
                the access key from the environment.
        """
        if entry.url is None:
            form: dict[str, Any] = {"type": self.command_type} if self.command_type else {}
            if self.joins_command:
                form |= {"command": [entry.command, *entry.args]}
            else:
                form |= {"command": entry.command, "args": list(entry.args)}
            return {**form, **self.added, **({self.env_key: dict(entry.env)} if entry.env else {})}
        if self.url_key is None:
            raise InvalidInput(
                f"the file of {self.title} holds commands only: leave out --http, and"
                f" `infinite-memory connect {self.name}` lets it start a server of its own on the"
                " same memory; or add the URL in its settings as a connector, for which the server"
                " must be reachable from the internet"
            )
        typed = {"type": self.url_type} if self.url_type else {}
        return {**typed, self.url_key: entry.url, **self.added, **self._show_key(entry)}

    def _show_key(self, entry: ServerEntry) -> dict[str, Any]:
        """Return the part of an entry with the access key, in a header that every proxy knows."""
        if not entry.has_key:
            return {}
        if entry.key_variable is None:
            return {self.headers_key: {"Authorization": f"Bearer {entry.key}"}}
        if self.bearer_variable_key is not None:
            return {self.bearer_variable_key: entry.key_variable}
        if self.reference is None:
            raise InvalidInput(
                f"{self.title} takes no header from the environment: give the key itself with --key"
                " instead of --key-from-env, and it stands in the file of the client"
            )
        reference = self.reference.format(entry.key_variable)
        return {self.headers_key: {"Authorization": f"Bearer {reference}"}}


_RESTART = "Restart {} to load it."
# How a header names a variable of the environment. Of the clients without: Zed sends such a text as
# it stands (its issue 60459), and VS Code knows `${input:NAME}` alone (its issue 336232).
_BRACES = "${{{}}}"
_ENV_BRACES = "${{env:{}}}"
_EVERY_EXTRA = frozenset(Extra)
_VSCODE_DATA = "{data}/Code/User"
_CLINE_EXTENSION = f"{_VSCODE_DATA}/globalStorage/saoudrizwan.claude-dev"

CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        files=("{data}/Claude/claude_desktop_config.json",),
        markers=("{data}/Claude",),
        url_key=None,
        next_step=_RESTART.format("Claude Desktop"),
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        override="{CLAUDE_CONFIG_DIR}/.claude.json",
        files=("{home}/.claude.json",),
        project_file="{project}/.mcp.json",
        markers=("{home}/.claude",),
        commands=("claude",),
        command_type="stdio",
        url_type="http",
        reference=_BRACES,
        next_step="Check it with `claude mcp list`; sessions that run see it after a restart.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        accepts=_EVERY_EXTRA,
        files=("{home}/.cursor/mcp.json",),
        project_file="{project}/.cursor/mcp.json",
        markers=("{home}/.cursor",),
        commands=("cursor", "cursor-agent"),
        command_type="stdio",
        reference=_ENV_BRACES,
        next_step="Restart Cursor, and see that the server is switched on under MCP.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        accepts=_EVERY_EXTRA,
        container="servers",
        files=(f"{_VSCODE_DATA}/mcp.json",),
        project_file="{project}/.vscode/mcp.json",
        markers=(_VSCODE_DATA,),
        commands=("code",),
        command_type="stdio",
        url_type="http",
        next_step="Start it with the command `MCP: List Servers`; VS Code asks if you trust it.",
    ),
    Client(
        name="codex",
        title="Codex",
        syntax=Syntax.TOML,
        container="mcp_servers",
        override="{CODEX_HOME}/config.toml",
        files=("{home}/.codex/config.toml",),
        project_file="{project}/.codex/config.toml",
        markers=("{home}/.codex",),
        commands=("codex",),
        headers_key="http_headers",
        bearer_variable_key="bearer_token_env_var",
        next_step="Check it with `codex mcp list`; a project's file counts once you trust it.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        accepts=frozenset({Extra.COMMENT}),
        override="{GEMINI_CLI_HOME}/.gemini/settings.json",
        files=("{home}/.gemini/settings.json",),
        project_file="{project}/.gemini/settings.json",
        markers=("{home}/.gemini",),
        commands=("gemini",),
        url_type="http",
        reference=_BRACES,
        next_step="Check it with `gemini mcp list`, in a folder that you trust: in any other"
        " Gemini CLI starts no server.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        files=("{home}/.codeium/windsurf/mcp_config.json",),
        markers=("{home}/.codeium/windsurf",),
        commands=("windsurf",),
        url_key="serverUrl",
        reference=_ENV_BRACES,
        next_step="Refresh the servers in the panel of Cascade, or restart Windsurf.",
    ),
    Client(
        name="zed",
        title="Zed",
        accepts=_EVERY_EXTRA,
        container="context_servers",
        files=("{config}/zed/settings.json",),
        windows_files=("{data}/Zed/settings.json",),
        markers=("{config}/zed", "{data}/Zed"),
        commands=("zed", "zeditor"),
        next_step="Zed starts it at once; the settings of its agent show a green dot.",
    ),
    Client(
        name="cline",
        title="Cline",
        override="{CLINE_MCP_SETTINGS_PATH}",
        files=(
            "{home}/.cline/data/settings/cline_mcp_settings.json",
            f"{_CLINE_EXTENSION}/settings/cline_mcp_settings.json",
        ),
        markers=("{home}/.cline", _CLINE_EXTENSION),
        commands=("cline",),
        command_type="stdio",
        url_type="streamableHttp",
        reference=_ENV_BRACES,
        next_step="Cline starts it at once; its list of servers shows it.",
    ),
    Client(
        name="opencode",
        title="OpenCode",
        accepts=_EVERY_EXTRA,
        container="mcp",
        override="{OPENCODE_CONFIG}",
        files=("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        project_file="{project}/opencode.json",
        markers=("{config}/opencode",),
        commands=("opencode",),
        command_type="local",
        joins_command=True,
        env_key="environment",
        url_type="remote",
        reference="{{env:{}}}",
        next_step="Check it with `opencode mcp list`.",
    ),
    Client(
        name="copilot",
        title="Copilot CLI",
        override="{COPILOT_HOME}/mcp-config.json",
        files=("{home}/.copilot/mcp-config.json",),
        markers=("{home}/.copilot",),
        commands=("copilot",),
        command_type="local",
        added={"tools": ["*"]},
        url_type="http",
        reference=_BRACES,
        next_step="Check it with `/mcp show` in a new session.",
    ),
)


def get_client(name: str) -> Client:
    """Return the client of a name.

    Raises:
        InvalidInput: there is none; the message names all.
    """
    names: Mapping[str, Client] = {client.name: client for client in CLIENTS}
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted in names:
        return names[wanted]
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]}? Or " if near else ""
    raise InvalidInput(f"{name!r:.100} is no known client: {hint}give one of {', '.join(names)}")
