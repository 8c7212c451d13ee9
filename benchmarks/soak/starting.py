"""Let forked processes begin together: none before all of them are ready."""

from __future__ import annotations

import os


class Start:
    """Made before the processes are forked; each `wait`s in its own, and the parent `give`s it."""

    def __init__(self) -> None:
        self._ready, self._tell_ready = os.pipe()
        self._go, self._hold = os.pipe()

    def wait(self) -> None:
        """Say that this process is ready, and wait for the others."""
        os.write(self._tell_ready, b"!")
        os.close(self._tell_ready)
        os.close(self._hold)
        os.read(self._go, 1)

    def give(self, processes: int) -> None:
        """Wait until so many are ready, or have ended before, and let them go."""
        os.close(self._tell_ready)
        while processes and os.read(self._ready, 1):
            processes -= 1
        for end in (self._hold, self._go, self._ready):
            os.close(end)
