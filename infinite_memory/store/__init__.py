"""`MemoryStore`, the object that users hold, with its groups of methods; and its awaited form."""
