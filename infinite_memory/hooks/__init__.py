"""What a client runs at the events of a session; quick, and without effect on the client."""
