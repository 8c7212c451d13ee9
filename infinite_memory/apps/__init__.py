"""The programs of a person: the command line, the hook, and the connection of clients."""
