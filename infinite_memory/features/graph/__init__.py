"""The graph of the memories: links that are stored, and relations that are read from them."""
