"""The command that a client runs at the events of a session, quick and without effect on it."""
