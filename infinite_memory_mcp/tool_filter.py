"""Which tools of its toolsets a server offers; importing this module loads no SDK."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.messages import suggest_name


@frozen(kw_only=True)
class ToolFilter:
    """The tools that a server offers of its toolsets: all of them, unless a field says otherwise.

    `only` names the tools to offer, None for all. `excluded` names tools to leave out. With
    `read_only` the tools that change something are left out.
    """

    only: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    read_only: bool = False

    def check(self, names: Collection[str]) -> None:
        """Refuse a name that is not among `names`, the tools of all toolsets.

        Raises:
            InvalidInput: there is no tool of that name; the message has the nearest.
        """
        for name in (*(self.only or ()), *self.excluded):
            if name not in names:
                raise InvalidInput(
                    f"there is no tool {name!r:.100}: the nearest is {suggest_name(name, names)!r},"
                    f" all are {', '.join(names)}"
                )

    def explain_absence(self, name: str, *, reads: bool) -> str | None:
        """Return why a tool is left out and the way out, as the end of a sentence; None if not."""
        if name in self.excluded:
            return "is excluded from this server: start it without --exclude-tools"
        if self.only is not None and name not in self.only:
            return "is not among the tools of this server: start it with another --tools"
        if self.read_only and not reads:
            return "changes the memory, and this server only reads: start it without --read-only"
        return None
