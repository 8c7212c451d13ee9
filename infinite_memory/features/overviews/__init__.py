"""What a reader is told at a glance: a briefing, and what is known of a topic."""
