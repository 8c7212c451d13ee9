"""Export into open formats, and import from them and from the formats of other products."""
