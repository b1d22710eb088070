"""Reads partitions where they are scheduled: `foliodb.read_partition`."""

from __future__ import annotations

import os

from ._foliodb import Answer, Partition
from .database import open


def read_partition(partition: Partition, path: str | os.PathLike[str] | None = None) -> Answer:
    """Reads a partition that `Database.partitions` planned, in this or another process.

    `path` says where the database is here, if it is at another path than it was there.

    Raises `ConflictError` if the rows are not those that were planned.
    """
    return open(partition.uri if path is None else path, "r").read_partition(partition)
