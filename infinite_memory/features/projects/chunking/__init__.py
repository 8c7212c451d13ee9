"""Cut a session into pieces of work."""
