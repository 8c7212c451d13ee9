"""The jobs of a store, when they are due, and the worker that runs them."""
