"""Reads YAML in time that is proportional to its length: shallow, and without aliases.

An alias may stand for a value that is a million times as large. The scanner of PyYAML looks at
every open level for each token, which takes quadratic time in a text of brackets.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_MAX_LEVELS = 32


def load_shallow_yaml(written: str) -> Any:
    """Return the value of a document in YAML.

    Raises:
        ValueError: it is not YAML, has an alias, or is nested in more than 32 levels.
    """
    import yaml  # noqa: PLC0415

    try:
        return yaml.load(written, _make_loader())
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from error


@cache
def _make_loader() -> Any:
    """Return a loader that refuses while it scans, before it makes anything of what it scanned."""
    import yaml  # noqa: PLC0415

    class ShallowLoader(yaml.SafeLoader):
        def fetch_alias(self) -> None:
            raise ValueError("it has an alias, which is not read")

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 -- its name
            self._check_levels()
            super().fetch_flow_collection_start(TokenClass)

        def add_indent(self, column: int) -> bool:
            self._check_levels()
            return super().add_indent(column)

        def _check_levels(self) -> None:
            if self.flow_level + len(self.indents) > _MAX_LEVELS:
                raise ValueError(f"it is nested in more than {_MAX_LEVELS} levels")

    return ShallowLoader
