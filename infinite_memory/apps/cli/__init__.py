"""The command line `infinite-memory`: the commands, and the parts that they share."""

from __future__ import annotations
