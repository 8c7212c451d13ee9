"""Small files of the library: advisory locks, and writes that are whole or absent."""
