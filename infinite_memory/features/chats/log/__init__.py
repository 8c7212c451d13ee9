"""The log of a conversation: its messages, stored once, read back in order."""
