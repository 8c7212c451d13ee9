"""The commands of the memory of conversations."""
