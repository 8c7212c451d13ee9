"""The open formats of this library, each with a writer and a reader."""
