"""The derived index: two arms, one score."""
