"""Export the graph of the memories into files that other programs read."""
