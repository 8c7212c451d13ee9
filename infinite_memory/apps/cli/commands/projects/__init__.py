"""The commands of project memory."""
