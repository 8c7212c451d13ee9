"""The site of the documentation: its pages, with the reference that is generated from the code."""
