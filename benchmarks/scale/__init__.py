"""How search, memory and writing behave from a thousand memories to a million."""
