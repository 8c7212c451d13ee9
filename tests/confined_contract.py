"""The contract of a storage, as a confined one keeps it."""

from __future__ import annotations

import pytest

from infinite_memory.testing.storage_contract import StorageContract
from infinite_memory.testing.storage_contract.access_keys import AccessKeyTests

# Every scope that a test of the contract uses.
SCOPES = (
    "Global",
    "apollo",
    "child",
    "never was",
    "new",
    "other",
    "p",
    "s",
    "Straße",
    "t",
    "Älpli 🏔",
)
# The same scopes, admitted by patterns.
PATTERNS = ("G*", "apollo", "c*", "never *", "n*", "other", "p*", "s*", "STRASSE*", "t", "Älpli *")


class ConfinedContract(StorageContract):
    @pytest.fixture(autouse=True)
    def pass_over(self, request: pytest.FixtureRequest) -> None:
        """Leave out the tests of what a confined storage promises otherwise, each for a reason."""
        other = {
            "test_entries_are_numbered_and_chained": (
                "entries that touch nothing are not shown, and the others are not chained"
            ),
            "test_an_action_comes_back_as_it_was": "its entry is about memories that are not there",
            "test_entries_are_read_page_by_page_and_by_memory": (
                "its entries are about memories that are not there"
            ),
            "test_another_handle_goes_on_with_the_chain": (
                "its entries are about memories that are not there"
            ),
        }
        if isinstance(request.cls, type) and hasattr(AccessKeyTests, request.node.originalname):
            pytest.skip("access keys belong to the whole store")
        reason = other.get(request.node.originalname)
        if reason is not None:
            pytest.skip(reason)
