"""What works by itself: the worker, the upkeep and the dreamer."""
