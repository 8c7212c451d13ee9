"""The transcripts that clients write: a table of readers by client."""
