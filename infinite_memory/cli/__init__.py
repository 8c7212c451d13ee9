"""The command line `infinite-memory`: one command, or one family of them, a file."""

from __future__ import annotations
