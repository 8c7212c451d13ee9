"""Who writes summaries: the built-in summariser, or a model behind an endpoint."""
