"""What clients wrote: their session files as events and messages, and the spool of hooks."""
