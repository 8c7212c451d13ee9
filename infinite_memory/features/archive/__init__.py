"""Archives of whole stores: export, import, backups, restore, and copies between backends."""
