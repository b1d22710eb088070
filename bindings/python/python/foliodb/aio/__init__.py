"""The same database for programs of `asyncio`: the same names, awaited.

    import foliodb.aio

    async with foliodb.aio.open("mydata") as db:
        users = db["users"]
        await users.put("ann", {"name": "Ann", "age": 34})
        async for user in users.scan(where="age > ?", params=[30]):
            print(user)
        await (await db.sql("select count(*) from users")).fetchone()

Each class wraps one of `foliodb` and has its methods, made from the tables that the classes
here are: a method runs on a thread, without the interpreter's lock while the engine works, and
the event loop goes on. Properties that look into files are awaited too. Arguments, answers and
errors are those of the method that is wrapped.

Threads: a database has some, which its collections share, and each session and each batch has
one of its own. So a transaction and a batch always come to their end, however many others wait
for them. Code within `async with users.batch()` runs on the batch's thread, which refuses what
would wait for itself, as it does without `asyncio`.

A task that is cancelled interrupts its statement, and waits until it has ended. Work with a
`progress` argument stops at its next step. Anything else goes on to its end on its thread, and
what a fetch brought is there for the next. Functions of the program that the engine calls
(`filter`, `default`, `progress`, `create_function`) are called on these threads.
"""

from __future__ import annotations

from .collection import AsyncBatch, AsyncCollection
from .database import AsyncDatabase, AsyncTables, open
from .rows import AsyncAnswer, AsyncScan
from .session import AsyncPrepared, AsyncSession, AsyncTransaction

__all__ = [
    "AsyncAnswer",
    "AsyncBatch",
    "AsyncCollection",
    "AsyncDatabase",
    "AsyncPrepared",
    "AsyncScan",
    "AsyncSession",
    "AsyncTables",
    "AsyncTransaction",
    "open",
]
