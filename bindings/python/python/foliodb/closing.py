"""Objects that a `with` block closes."""

from __future__ import annotations

from ._checking import TYPE_CHECKING
from .errors import FolioError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Closing:
    """Has a `close`, which the end of a `with` block calls."""

    def close(self) -> None:
        """Closes; closing twice is allowed."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if value is None:
            self.close()
            return
        try:
            self.close()
        except FolioError:
            pass  # what ended the block says more
