"""The files of a SQLite store: paths, marker, locks, log, reserve, and checks of them."""
