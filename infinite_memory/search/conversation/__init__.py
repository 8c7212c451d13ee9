"""The turns of a conversation, and what the turns around a memory add to its score."""
