"""Images, sounds and files that belong to memories: as references, or with their bytes."""
