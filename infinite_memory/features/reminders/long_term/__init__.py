"""Long-term memories of conversations: named, and with a condition for when they come up."""
