"""A page with the insights of the work on repositories: one file of HTML, with charts."""
