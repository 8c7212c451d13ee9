"""Text as terms and as passages."""
