"""Copy a store to another one, and compare both."""
