"""The transcripts that clients write: one reader a client, in one table."""
