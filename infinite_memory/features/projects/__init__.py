"""Projects: what a coding assistant should have remembered about a repository."""
