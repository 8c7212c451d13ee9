"""The tools of conversations: their log, short-term memory, and long-term memory with triggers."""
