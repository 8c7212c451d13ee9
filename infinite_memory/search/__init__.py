"""Search: a derived index that scores memories by words and by meaning."""
