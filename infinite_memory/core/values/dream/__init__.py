"""The values of the dreamer."""
