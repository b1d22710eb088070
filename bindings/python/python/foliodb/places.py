"""Where a database is: a path of this machine, or a URL."""

from __future__ import annotations

import os


def is_url(path: str) -> bool:
    """Whether a path is a URL."""
    # Without `re`, which is slow to import.
    scheme, separator, _ = path.partition("://")
    letters = scheme.translate({ord(sign): None for sign in "+.-"})
    return bool(separator) and scheme[:1].isalpha() and letters.isascii() and letters.isalnum()


# What a URL becomes as a path has lost a slash: opening it says so.
_SCHEMES = ("file:", "http:/", "https:/", "s3:/", "gs:/", "az:/", "hf:/")


def absolute(path: str | os.PathLike[str]) -> str:
    """The same place for every process of this machine."""
    text = os.fspath(path)
    return text if is_url(text) or text.startswith(_SCHEMES) else os.path.abspath(text)
