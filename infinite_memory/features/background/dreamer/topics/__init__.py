"""Topic summaries: the groups that want one, their titles, and how they are written."""
