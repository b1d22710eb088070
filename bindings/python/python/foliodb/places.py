"""Where a database is: a path of this machine, or a URL."""

from __future__ import annotations

import os
import re

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(path: str) -> bool:
    """Whether a path is a URL."""
    return _URL.match(path) is not None


def absolute(path: str | os.PathLike[str]) -> str:
    """The same place for every process of this machine."""
    text = os.fspath(path)
    return text if is_url(text) else os.path.abspath(text)
