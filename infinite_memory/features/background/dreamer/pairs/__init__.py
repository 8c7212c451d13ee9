"""Pairs of memories: how they are sampled, judged and linked."""
