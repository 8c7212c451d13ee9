"""`MemoryStore`, the object that users hold, with its groups of methods; and its awaited form."""

CONTEXT_TOKENS = 1500
"""The default budget of the context of a repository that somebody asks for, in tokens."""
SESSION_TOKENS = 500
"""The default budget of a briefing, in tokens."""
KNOWLEDGE_TOKENS = 1000
"""The default budget of an overview of a topic, in tokens."""
