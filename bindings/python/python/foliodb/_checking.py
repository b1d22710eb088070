"""The part of `typing` that only type checkers need.

Importing `typing` takes as long as importing all of this package's own modules, which a
script that looks up one document notices. Checkers take the name `TYPE_CHECKING` for true.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import overload as overload
else:

    def overload(function):
        """Nothing: the implementation that follows takes the name."""
        return function
