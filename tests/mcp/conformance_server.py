"""Our command, with the fixtures of the conformance suite beside its own tools.

python tests/mcp/conformance_server.py --http 127.0.0.1:8765 --home DIR
"""

from __future__ import annotations

import sys
from typing import Any

from conformance_fixtures import add_fixtures
from mcp.server import MCPServer

from infinite_memory_mcp import command
from infinite_memory_mcp.http import serving

_build = serving.build_server


def _build_with_fixtures(*arguments: Any, **settings: Any) -> MCPServer[Any]:
    server = _build(*arguments, **settings)
    add_fixtures(server)
    return server


if __name__ == "__main__":
    serving.build_server = _build_with_fixtures
    sys.exit(command.main())
