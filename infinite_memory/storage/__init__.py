"""The storage backends: `inmemory` is the reference, `sqlite` the embedded default."""

from __future__ import annotations

__all__: list[str] = []
