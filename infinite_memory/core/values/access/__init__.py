"""Who may reach a store over a network: access keys, and the patterns of scopes that they open."""
