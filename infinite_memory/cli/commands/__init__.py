"""The commands, grouped by subject; `cli.main` loads the file of the one that is called."""
