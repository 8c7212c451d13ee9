"""The jobs of the upkeep, a file each; the worker names them in `worker.jobs.JOBS`."""
