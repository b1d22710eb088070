"""FTP servers, which are not read: the provider says what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import DatasetInfo, Provider, ProviderUnavailableError


class FTPProvider(Provider):
    """FTP and SFTP servers: `ftp://host/path`. Not yet."""

    name = "ftp"

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The host, and the path from its root on."""
        host, _, path = uri.partition("/")
        return {"host": host, "path": f"/{path}"}

    def get_info(self, uri: str, **settings: Any) -> DatasetInfo:
        """Raises `ProviderUnavailableError`, a `NotImplementedError`."""
        raise _unavailable(uri)

    def download(
        self,
        uri: str,
        cache_dir: Path | None = None,
        revision: str | None = None,
        path: str | None = None,
        force: bool = False,
        **settings: Any,
    ) -> Path:
        """Raises `ProviderUnavailableError`, a `NotImplementedError`."""
        raise _unavailable(uri)


def _unavailable(uri: str) -> ProviderUnavailableError:
    return ProviderUnavailableError(
        "FTP provider is not yet implemented; bring the data here first, then load it:\n"
        f"  wget -r -nH -P ./data ftp://{uri}\n  load_remote('./data')"
    )
