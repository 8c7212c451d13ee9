"""Conversations: take in what was said in the sessions of clients."""
