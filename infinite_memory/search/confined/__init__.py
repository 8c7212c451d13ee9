"""The search of a handle that is confined to some scopes."""
