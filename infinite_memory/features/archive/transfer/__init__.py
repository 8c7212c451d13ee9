"""Everything that a store holds as records, out of any storage and into any storage."""
