"""The page of a person: its files, its JSON layer, and signing in."""
