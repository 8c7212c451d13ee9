"""The commands of the graph: what belongs to a memory, links by hand, and exports of the graph."""
