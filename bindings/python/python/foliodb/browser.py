"""Shows a database in the browser: `foliodb.studio`."""

from __future__ import annotations

from ._foliodb import Database, Studio


def studio(database: Database, *, port: int = 0, write: bool = False) -> Studio:
    """Serves the pages of the studio on 127.0.0.1, in threads of this process.

    The address is `studio(db).url`, and a link in a notebook. It has a token; whoever has the
    address can read the database. Pages change nothing unless `write` is true.

    The handle ends the studio by `close()`, as a context manager, or when it is dropped.
    """
    return Studio(database, port=port, write=write)
