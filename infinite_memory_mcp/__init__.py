"""The MCP server of Infinite Memory: a thin adapter; a tool makes a single call on the library.

Importing this package is quick; the SDK is loaded when a public name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infinite_memory_mcp.http.serving import serve_http
    from infinite_memory_mcp.lazy_store import LazyStore
    from infinite_memory_mcp.server import build_server
    from infinite_memory_mcp.stdio import serve

__all__ = ["LazyStore", "build_server", "serve", "serve_http"]

_HOMES = {
    "LazyStore": "lazy_store",
    "build_server": "server",
    "serve": "stdio",
    "serve_http": "http.serving",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported yet or not."""
    return sorted({*globals(), *__all__})
