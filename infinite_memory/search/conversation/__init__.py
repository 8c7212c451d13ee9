"""The turns of a conversation, and the share of nearby turns in the score of a memory."""
