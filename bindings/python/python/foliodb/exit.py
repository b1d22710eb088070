"""The end of a process: what is open is flushed, however it is held.

`atexit` covers the end of a program, `sys.exit` and an uncaught exception. SIGTERM ends a
process without any of it, so `open` takes the signal where the program has left it to the
system. `os._exit`, `kill -9` and a crash flush nothing: what the background has not written by
then, a second's worth at most, is lost.
"""

from __future__ import annotations

import os

from . import _foliodb
from ._checking import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    # `signal` puts enumerations around it, which take a fifth of the time of `import foliodb`.
    try:
        import _signal as signal
    except ImportError:  # an interpreter that has another
        import signal


def flush_on_terminate() -> None:
    """Has SIGTERM flush before it ends the process, unless the program handles it itself."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        try:
            signal.signal(signal.SIGTERM, _terminate)
        except ValueError:
            pass  # only the main thread may set handlers


def _terminate(number: int, frame: FrameType | None) -> None:
    try:
        _foliodb._flush_all()
    finally:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
