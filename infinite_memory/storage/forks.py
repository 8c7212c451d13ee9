"""The message, shared by all backends, about a store that was open when the process forked."""

from __future__ import annotations


def crossed_fork(store: str) -> str:
    """Return the message that refuses `store` in a forked child."""
    return (
        f"{store} was open when this process was forked, and an open store does not cross a fork: "
        'start workers with "spawn" or "forkserver", or close the store before forking; nothing '
        "was done"
    )
