"""Conversations: take in the messages of the sessions of clients."""
