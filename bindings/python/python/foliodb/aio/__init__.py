"""The same database for programs of `asyncio`: the same names, awaited.

    import foliodb.aio

    async with foliodb.aio.open("mydata") as db:
        users = db["users"]
        await users.put("ann", {"name": "Ann", "age": 34})
        async for user in users.scan(where="age > ?", params=[30]):
            print(user)
        await (await db.sql("select count(*) from users")).fetchone()

Each class wraps one of `foliodb` and has its methods: a method runs on a thread, without the
interpreter's lock while the engine works, and the event loop continues. Properties that read
files are awaited too. Arguments, results and errors are those of the wrapped method.

Threads: the collections of a database share its threads, and each session and each batch has
its own. So a transaction and a batch always finish, however many tasks wait for them. Code
within `async with users.batch()` runs on the batch's thread, which refuses to wait for itself,
as without `asyncio`.

A cancelled task interrupts its statement, and waits until it has ended. Calls with a
`progress` argument stop at their next step. Any other call completes on its thread, and
fetched rows remain for the next fetch. Functions of the program that the engine calls
(`filter`, `default`, `progress`, `create_function`) are called on these threads.
"""

from __future__ import annotations

from .collection import AsyncBatch, AsyncCollection
from .database import AsyncDatabase, AsyncTables, open
from .rows import AsyncAnswer, AsyncScan
from .session import AsyncPrepared, AsyncSession, AsyncTransaction
from .writing import AsyncPartitionedWriter, AsyncPartWriter

__all__ = [
    "AsyncAnswer",
    "AsyncBatch",
    "AsyncCollection",
    "AsyncDatabase",
    "AsyncPartWriter",
    "AsyncPartitionedWriter",
    "AsyncPrepared",
    "AsyncScan",
    "AsyncSession",
    "AsyncTables",
    "AsyncTransaction",
    "open",
]
