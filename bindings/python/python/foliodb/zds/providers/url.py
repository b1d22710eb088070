"""Providers of buckets, web servers and the Hugging Face Hub: data sets are read where they are.

Nothing is copied: the engine reads the index of a collection, and of its documents those that are
asked for (see the guide on databases at a URL, which has the credentials, too).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import InvalidInputError
from .base import DatasetInfo, Provider, ProviderUnavailableError


class UrlProvider(Provider):
    """A provider whose data sets open at a URL."""

    # The scheme that the engine knows, the name of what is behind it, and those of the two parts
    # of an address.
    scheme: str
    parts: tuple[str, str]

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The parts of an address."""
        first, _, rest = uri.partition("/")
        return dict(zip(self.parts, (first, rest)))

    def url(self, uri: str, revision: str | None = None, path: str | None = None) -> str:
        """What opens a data set, or a folder in it. Raises `InvalidInputError` for a revision."""
        if revision is not None:
            raise InvalidInputError(f"{self.scheme}:// has no revisions, and {revision!r} was asked for")
        return _joined(f"{self.scheme}://{uri}", path)

    def get_info(self, uri: str, **settings: Any) -> DatasetInfo:
        """The name and the URL. Asks nobody."""
        revision = settings.get("revision")
        # A query may be a signature, and before the host there may be a password.
        url = self.url(uri, revision, settings.get("subpath")).partition("?")[0]
        scheme, _, rest = url.partition("://")
        host, mark, path = rest.partition("/")
        url = f"{scheme}://{host.rpartition('@')[2]}{mark}{path}"
        return DatasetInfo(url.rstrip("/").rpartition("/")[2], self.name, url, revision)

    def download(
        self,
        uri: str,
        cache_dir: Path | None = None,
        revision: str | None = None,
        path: str | None = None,
        force: bool = False,
        **settings: Any,
    ) -> Path:
        """Raises `ProviderUnavailableError`: data sets at URLs are not copied."""
        raise ProviderUnavailableError("a data set at a URL is read where it is, not copied; use load_remote, or foliodb.open")


class S3Provider(UrlProvider):
    """Amazon S3: `s3://bucket/path`."""

    name = scheme = "s3"
    parts = ("bucket", "key")


class GCSProvider(UrlProvider):
    """Google Cloud Storage: `gs://bucket/path`."""

    name = "gcs"
    scheme = "gs"
    parts = ("bucket", "blob")


class AzureProvider(UrlProvider):
    """Azure Blob Storage: `az://container/path`."""

    name = "azure"
    scheme = "az"
    parts = ("container", "blob")


class HTTPProvider(UrlProvider):
    """Web servers that send ranges: `https://host/data.zds`."""

    name = "http"
    scheme = "https"
    parts = ("host", "path")

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The address."""
        return {"url": uri}

    def url(self, uri: str, revision: str | None = None, path: str | None = None) -> str:
        """What opens a data set; `https` where the address names no scheme."""
        scheme, mark, rest = uri.partition("://")
        if mark and scheme.lower() == "http" and revision is None:
            return _joined(f"http://{rest}", path)
        return super().url(rest if mark else uri, revision, path)


class HuggingFaceProvider(UrlProvider):
    """Data sets of the Hugging Face Hub: `hf://owner/name`, `hf://owner/name/data.zds`."""

    name = "huggingface"
    scheme = "hf"
    parts = ("owner", "dataset")

    def url(self, uri: str, revision: str | None = None, path: str | None = None) -> str:
        """What opens a data set, at a revision."""
        kind, _, rest = uri.partition("/")
        repository = rest if kind in ("datasets", "spaces") else uri
        kind = kind if kind in ("datasets", "spaces") else "datasets"
        owner, _, rest = repository.partition("/")
        name, mark, inside = rest.partition("/")
        if revision is not None:
            name = f"{name.partition('@')[0]}@{revision.replace('/', '%2F')}"
        return _joined(f"hf://{kind}/{owner}/{name}{mark}{inside}", path)


def _joined(url: str, path: str | None) -> str:
    """A URL of a folder below, before its query."""
    if path is None:
        return url
    url, mark, query = url.partition("?")
    return f"{url.rstrip('/')}/{path.strip('/')}{mark}{query}"
