"""What is known about a topic: summaries first, then highlights, within a budget of tokens."""
