"""The assistants that can use this memory, and the files in which they list their servers."""
