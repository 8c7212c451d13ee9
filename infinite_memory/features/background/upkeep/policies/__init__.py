"""The policies: pure functions that say what the upkeep would do with a memory, and why."""
