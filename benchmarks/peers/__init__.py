"""The same work on other memories that run offline, and on this one: the README's table."""
