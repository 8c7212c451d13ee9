"""What is built on the engine, a folder each."""
