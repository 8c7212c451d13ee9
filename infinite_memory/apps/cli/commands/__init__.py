"""The commands, grouped by subject; `apps.cli.main` loads only the file of the called command."""
