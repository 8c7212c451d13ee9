"""Values of conversations: messages, triggers, and the occasions on which triggers are checked."""
