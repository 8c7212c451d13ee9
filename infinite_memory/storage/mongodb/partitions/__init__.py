"""A store in several databases of one deployment, each of which a cluster can keep on a shard."""
