"""What an operator sees of a running memory: its log, its metrics, and who read what."""
