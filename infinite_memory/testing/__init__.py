"""What the author of a backend needs to prove it.

`storage_contract` has the tests that a `Storage` must pass, `storage_machine` compares one with
the reference under random operations, `store_machine` compares a whole `MemoryStore` on it with a
plain model, `strategies` makes the values. They need the extra `dev`.
"""

from __future__ import annotations

__all__: list[str] = []
