"""Undo entries of the journal."""
