"""The commands, grouped by subject; `cli.main` loads only the file of the called command."""
