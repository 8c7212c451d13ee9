"""The file format of an archive: frames of records, a manifest, and encryption."""
