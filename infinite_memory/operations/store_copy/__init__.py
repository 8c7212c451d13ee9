"""Copy a store into an empty store, and compare the two."""
