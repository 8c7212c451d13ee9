"""`python -m infinite_memory`: the command line."""

from __future__ import annotations

from infinite_memory.apps.cli.main import main

if __name__ == "__main__":
    main()
