"""The events of the sessions of coding assistants, read from their files."""
