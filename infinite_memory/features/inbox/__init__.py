"""The inbox: what came in, seems to command a model, and waits for the word of a person."""
