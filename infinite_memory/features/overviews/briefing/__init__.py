"""The briefing of an assistant at the start of a session."""
