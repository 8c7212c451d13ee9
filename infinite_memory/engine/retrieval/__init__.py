"""Read: search, browse, recall by time, history, and the explanations of their results."""
