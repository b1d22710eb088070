"""What the disk can do, beside which the figures of durable writes are read.

Four lines in the manner of fio, each for a second or so: sequential writing (MiB at a time, synced
at the end) and reading, random reading of 4 KiB, and random writing of 4 KiB with an fdatasync
each. One request at a time, as a database with one client makes them. What was written is dropped
from the page cache before it is read, which a virtual disk's host may still hold.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable

MIB, PAGE = 1 << 20, 4096


def figures(size: int = 256 * MIB, seconds: float = 1.0, folder: str | None = None) -> dict[str, float]:
    """Bytes a second of the sequential lines, operations a second of the random ones."""
    chance = random.Random(42)
    with tempfile.NamedTemporaryFile(dir=folder, prefix="folio-disk-") as file:
        handle, block, page = file.fileno(), os.urandom(MIB), os.urandom(PAGE)
        places = range(0, size, MIB)
        write = timed(lambda: [os.pwrite(handle, block, place) for place in places] and os.fsync(handle))
        forget(handle)
        read = timed(lambda: [os.pread(handle, MIB, place) for place in places])
        forget(handle)

        def place() -> int:
            return chance.randrange(size // PAGE) * PAGE

        def durable() -> None:
            os.pwrite(handle, page, place())
            getattr(os, "fdatasync", os.fsync)(handle)

        random_read = often(lambda: os.pread(handle, PAGE, place()), seconds)
        random_write = often(durable, seconds)
    return {
        "sequential_write": round(size / write),
        "sequential_read": round(size / read),
        "random_read_4k": round(random_read),
        "random_write_4k_fdatasync": round(random_write),
    }


def forget(handle: int) -> None:
    """Drops the file from the page cache, where the system can."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def often(work: Callable[[], object], seconds: float) -> float:
    """How often a second."""
    started, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - started < seconds:
        work()
        count += 1
    return count / (time.perf_counter() - started)


if __name__ == "__main__":
    print(figures())
