"""What a client needs to know of a server: a command that it starts, or a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from infinite_memory.errors import InvalidInput

__all__ = ["SERVER_NAME", "ServerEntry"]

SERVER_NAME = "infinite-memory"
"""The name of the entry in the file of every client."""


@frozen(kw_only=True)
class ServerEntry:
    """A server as a client starts or reaches it: `command` with `args`, or `url`.

    `env` is what the client adds to the environment of the command. The repr omits what may hold
    a secret.

    Raises:
        InvalidInput: it has neither command nor URL or both, or a text that is not Unicode.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    url: str | None = field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise InvalidInput("a server is started by a command or reached by a URL: give one")
        for text in filter(None, (self.command, self.url, *self.args)):
            if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise InvalidInput(
                    f"{text!r:.200} has bytes that are not UTF-8, which the file of a client cannot"
                    " hold: use a folder with another name"
                )

    @classmethod
    def from_form(cls, form: object) -> ServerEntry | None:
        """Return the entry in the form that a client stores; None if it is no server at all."""
        if not isinstance(form, Mapping):
            return None
        command = _text(form, "command")
        url = None
        for name in ("url", "serverUrl", "httpUrl"):
            url = url or _text(form, name)
        if command is not None:
            args = form.get("args", ())
            env = form.get("env", {})
            return cls(
                command=command,
                args=tuple(map(str, args)) if isinstance(args, list | tuple) else (),
                env={str(key): str(value) for key, value in env.items()}
                if isinstance(env, Mapping)
                else {},
            )
        return None if url is None else cls(url=url)


def _text(form: Mapping[Any, Any], name: str) -> str | None:
    value = form.get(name)
    return str(value) if isinstance(value, str) and value else None
