"""The tools, in tables by what they are for."""
