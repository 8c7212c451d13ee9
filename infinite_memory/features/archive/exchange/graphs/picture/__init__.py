"""A picture of the graph: one page of HTML, drawn by plotly."""
