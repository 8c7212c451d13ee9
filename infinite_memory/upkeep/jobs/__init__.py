"""The jobs of the upkeep, a file each; a new job is a file here and its name in `worker.jobs`."""
