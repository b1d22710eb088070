"""The end of a process: all open databases are flushed.

`atexit` covers the end of a program, `sys.exit` and an uncaught exception. SIGTERM, and
SIGHUP when a terminal closes, end a process without any of it, so `open` handles the signals if
the program does not. `os._exit`, `kill -9` and a crash flush nothing: puts that are not yet
written, at most of the last second, are lost.
"""

from __future__ import annotations

import os

from . import _foliodb
from ._checking import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    # `signal` wraps it in enumerations, which take a fifth of the time of `import foliodb`.
    try:
        import _signal as signal
    except ImportError:  # an interpreter with another module
        import signal


def flush_on_terminate() -> None:
    """Makes SIGTERM and SIGHUP flush before they end the process, unless the program handles
    them."""
    numbers = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):  # not on Windows
        numbers.append(signal.SIGHUP)
    for number in numbers:
        if signal.getsignal(number) == signal.SIG_DFL:
            try:
                signal.signal(number, _terminate)
            except ValueError:
                pass  # only the main thread may set handlers


def _terminate(number: int, frame: FrameType | None) -> None:
    try:
        _foliodb._flush_all()
    finally:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
