"""The server backend: MongoDB through pymongo."""

from __future__ import annotations

from infinite_memory.storage.mongodb.partitions.opening import open_existing_mongodb, open_mongodb
from infinite_memory.storage.mongodb.storage import MongoStorage

__all__ = ["MongoStorage", "open_existing_mongodb", "open_mongodb"]
