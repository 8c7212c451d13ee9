"""Chats: the log of their conversations, and the short-term memory of each."""
