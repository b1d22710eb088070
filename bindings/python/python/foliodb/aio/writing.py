"""Jobs whose parts many tasks write, awaited."""

from __future__ import annotations

from .. import _foliodb
from .threads import AsyncWrapper, Awaited, Threads


class AsyncPartitionedWriter(AsyncWrapper):
    """A job that writes parts of a collection; see `Collection.partitioned_writer`. Its text makes a
    `PartitionedWriter` in other processes."""

    def __init__(self, threads: Threads, job: _foliodb.PartitionedWriter) -> None:
        self._threads = threads
        self._job = job

    def _blocking(self) -> _foliodb.PartitionedWriter:
        return self._job

    commit = Awaited(_foliodb.PartitionedWriter.commit, is_whole=True)
    abort = Awaited(_foliodb.PartitionedWriter.abort, is_whole=True)

    @property
    def uri(self) -> str:
        """The database."""
        return self._job.uri

    @property
    def collection(self) -> str:
        """The name of the collection."""
        return self._job.collection

    async def part(self, task: int) -> AsyncPartWriter:
        """The file of a task, by its number."""
        part = await self._threads.run(lambda: self._job.part(task), is_whole=True)
        return AsyncPartWriter(self._threads, part)

    def __str__(self) -> str:
        return str(self._job)


class AsyncPartWriter(AsyncWrapper):
    """The file of one task; see `Collection.partitioned_writer`."""

    def __init__(self, threads: Threads, part: _foliodb.PartWriter) -> None:
        self._threads = threads
        self._part = part

    def _blocking(self) -> _foliodb.PartWriter:
        return self._part

    put_json = Awaited(_foliodb.PartWriter.put_json)
    put_arrow = Awaited(_foliodb.PartWriter.put_arrow)
    finish = Awaited(_foliodb.PartWriter.finish, is_whole=True)
