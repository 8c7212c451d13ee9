"""The upkeep: jobs that keep a store quick, small and safe, and the worker that runs them."""
