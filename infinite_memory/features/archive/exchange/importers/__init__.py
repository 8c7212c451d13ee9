"""The formats of other products, one reader a file."""
