"""The dreamer: links what belongs together, and writes summaries of topics."""
