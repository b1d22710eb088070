"""Documents with NumPy arrays or PyTorch tensors for their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .errors import InvalidInputError

Format = Literal["torch", "numpy"]


def formatter(name: Format | None) -> Callable[[Any], Any] | None:
    """A function that turns the numbers of a document into `name`'s; `None` for `None`."""
    if name is None:
        return None
    if name == "torch":
        import torch

        return _Formatter(torch.tensor)
    if name == "numpy":
        import numpy

        return _Formatter(numpy.asarray)
    raise InvalidInputError(f"format {name!r} is unknown; use 'torch', 'numpy' or None")


class _Formatter:
    """Numbers, and lists of numbers of one shape, become arrays; everything else is
    unchanged."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, list):
            return self.make(value) if _shape(value) else [self(item) for item in value]
        return self.make(value) if isinstance(value, (bool, int, float)) else value


def _shape(value: Any) -> tuple[int, ...] | None:
    """The lengths of nested lists of numbers; `None` if they do not form an array."""
    if isinstance(value, (bool, int, float)):
        return ()
    if not isinstance(value, list) or not value:
        return None
    shapes = {_shape(item) for item in value}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)
