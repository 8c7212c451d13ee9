"""A year of a conversation through a server, and the rules that every search of it must keep."""
