"""Other views of a database: as it was at one moment, and a new content under other names."""
