"""The command `folio` of the package, implemented in the native half of `foliodb`.

It is a separate package because importing a module of `foliodb` imports all of `foliodb`, which
takes as long as the start of the interpreter.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

# Type checkers treat it as true; importing `typing` takes as long as the rest of this.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import ModuleType


def main() -> int:
    """Runs the command with the arguments of the process; returns its exit code."""
    _open_standard_streams()
    native = _native_half()
    _give_up_control_c()
    code: int = native._run_command(["folio", *sys.argv[1:]])
    return code


def _open_standard_streams() -> None:
    """Opens closed standard streams, so that no database file gets their number and is printed
    into."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the closed stream's.
            os.open(os.devnull, os.O_RDWR)


def _native_half() -> ModuleType:
    """Loads the native module without its package."""
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
    """Ctrl-C ends the process or is handled by the command; Python's handler would delay
    both."""
    from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

    # A signal that the caller ignores, as `nohup` and `&` do, stays ignored.
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)
