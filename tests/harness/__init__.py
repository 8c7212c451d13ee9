"""Programs that the tests and the soaks start as processes of their own."""
