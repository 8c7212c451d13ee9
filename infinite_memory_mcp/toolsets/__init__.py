"""The tools, in tables by purpose."""
