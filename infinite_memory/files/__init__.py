"""What the library does with small files: advisory locks, and writes that are whole or absent."""
