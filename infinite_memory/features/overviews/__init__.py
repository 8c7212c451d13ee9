"""What a reader is told at a glance: a briefing, and what is known of a topic."""

BRIEFING_TOKENS = 1500
"""The default budget of a briefing, in tokens."""
KNOWLEDGE_TOKENS = 1000
"""The default budget of an overview of a topic, in tokens."""
