"""The tests that a backend of yours must pass, for your own test suite.

`storage_contract` and `embedder_contract` are classes of tests to derive from, `storage_machine`
compares a storage with the reference under random operations, `strategies` makes its values, and
`embedders` has a quick embedder for tests. They need the extra `dev`. `pytest_plugin` has fixtures
for the tests of a program with a memory, and needs only pytest.
"""

from __future__ import annotations

__all__: list[str] = []
