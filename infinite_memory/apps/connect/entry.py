"""A server as the file of a client names it: a command to start, or a URL with its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput

SERVER_NAME = "infinite-memory"
"""The name of the entry in the file of every client."""

_KEY_HEADERS = ("authorization", "x-memory-key")
_VARIABLE = re.compile(r"\$?\{(?:env:)?(\w+)\}|\$(\w+)", re.ASCII)
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)


@frozen(kw_only=True)
class ServerEntry:
    """A server as a client starts or reaches it: `command` with `args`, or `url`.

    The client adds `env` to the environment of the command. A client shows the server at
    `url` an access key: `key`, or the value of the variable `key_variable` in the environment of
    the client. The repr omits every value that may hold a secret.

    Raises:
        InvalidInput: the entry has neither command nor URL or both, two keys, a key without a URL,
            or a text that is not Unicode.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    url: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None

    def __attrs_post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise InvalidInput("a server is started by a command or reached by a URL: give one")
        if self.has_key and self.url is None:
            raise InvalidInput("an access key is for a server at a URL: give the URL")
        if self.key is not None and self.key_variable is not None:
            raise InvalidInput("give the key, or the variable that holds the key: not both")
        for text in filter(None, (self.command, self.url, *self.args)):
            if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise InvalidInput(
                    f"{text!r:.200} has bytes that are not UTF-8, which the file of a client cannot"
                    " hold: use a folder with another name"
                )

    @property
    def has_key(self) -> bool:
        """Whether the client shows the server an access key."""
        return self.key is not None or self.key_variable is not None

    @classmethod
    def from_form(cls, form: object) -> ServerEntry | None:
        """Return the entry in the form that a client stores; None if the form is no server."""
        if not isinstance(form, Mapping):
            return None
        command, args = form.get("command"), form.get("args", ())
        if isinstance(command, list) and command:
            command, *args = command
        if isinstance(command, str) and command:
            return cls(
                command=command,
                args=tuple(map(str, args)) if isinstance(args, list | tuple) else (),
                env={**_read_texts(form, "env"), **_read_texts(form, "environment")},
            )
        for name in ("url", "serverUrl", "httpUrl"):
            url = _read_text(form, name)
            if url is not None:
                key, variable = _read_key(form)
                return cls(url=url, key=key, key_variable=variable)
        return None


def carries_key(header: str) -> bool:
    """Return whether a header of that name shows the server an access key."""
    return header.casefold() in _KEY_HEADERS


def is_reference(value: str) -> bool:
    """Return whether a header holds no secret, but the name of a value that the client fills in."""
    return _BEARER.sub("", value).startswith(("$", "{env:"))


def _read_key(form: Mapping[Any, Any]) -> tuple[str | None, str | None]:
    """Return the key of an entry, or the variable that holds the key; None for the rest."""
    named = _read_text(form, "bearer_token_env_var")
    for header, variable in _read_texts(form, "env_http_headers").items():
        named = named or (variable if carries_key(header) else None)
    if named is not None:
        return None, named
    headers = {**_read_texts(form, "headers"), **_read_texts(form, "http_headers")}
    for header, value in headers.items():
        if carries_key(header):
            key = _BEARER.sub("", value.strip(), count=1)
            match = _VARIABLE.fullmatch(key)
            return (None, match[1] or match[2]) if match else (key, None)
    return None, None


def _read_text(form: Mapping[Any, Any], name: str) -> str | None:
    value = form.get(name)
    return str(value) if isinstance(value, str) and value else None


def _read_texts(form: Mapping[Any, Any], name: str) -> dict[str, str]:
    values = form.get(name)
    if not isinstance(values, Mapping):
        return {}
    return {str(key): str(value) for key, value in values.items()}
