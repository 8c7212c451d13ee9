"""The storage backends: `inmemory` is the reference, `sqlite` the default, `mongodb` a server."""

from __future__ import annotations

__all__: list[str] = []
