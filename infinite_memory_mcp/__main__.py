"""`python -m infinite_memory_mcp` is the same as the command `infinite-memory-mcp`."""

from __future__ import annotations

import sys

from infinite_memory_mcp.command import main

if __name__ == "__main__":
    sys.exit(main())
