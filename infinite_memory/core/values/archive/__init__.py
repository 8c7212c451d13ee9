"""Values about whole stores: backups, restores and copies."""
