"""A year of facts that change, told to a server by a caller that gives no keys."""
