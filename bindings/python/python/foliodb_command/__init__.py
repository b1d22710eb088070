"""The command `folio`, which the package brings: all of it is in the native half of `foliodb`.

It is a package of its own because importing a module of `foliodb` imports all of `foliodb`, which
takes as long again as the interpreter's own start.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

# Checkers take it for true; `typing` takes as long as the rest of this.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import ModuleType


def main() -> int:
    """Runs the command with the arguments of the process; answers its exit code."""
    _open_standard_streams()
    native = _native_half()
    _give_up_control_c()
    code: int = native._run_command(["folio", *sys.argv[1:]])
    return code


def _open_standard_streams() -> None:
    """Without this a database would get the number of a stream that the caller closed, and be
    printed into."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)


def _native_half() -> ModuleType:
    """Loads it without the package around it."""
    name = "foliodb._foliodb"
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "foliodb")
    spec = PathFinder.find_spec(name, [folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} holds no native half; install foliodb again")
    module = spec.loader.create_module(spec)
    assert module is not None
    spec.loader.exec_module(module)
    return module


def _give_up_control_c() -> None:
    """Ctrl-C ends the process or is taken by the command; Python's handler would wait for both."""
    from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

    # Where the caller has it ignored, as `nohup` and `&` do, it stays ignored.
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)
