"""What an operator sees of a server: a line for every request, and the metrics of its tools."""
