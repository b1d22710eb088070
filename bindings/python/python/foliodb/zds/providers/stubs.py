"""Providers of unsupported sources: they parse the address and say what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import DatasetInfo, Provider, ProviderUnavailableError


class _Unavailable(Provider):
    """A provider that says how to get the data."""

    # Its name, the names of the two parts of an address, and a command that works.
    label: str
    parts: tuple[str, str]
    instead: str
    here: str = "./data"

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The parts of an address."""
        first, _, rest = uri.partition("/")
        return dict(zip(self.parts, (first, rest)))

    def get_info(self, uri: str, **settings: Any) -> DatasetInfo:
        """Raises `ProviderUnavailableError`, a `NotImplementedError`."""
        raise self._unavailable(uri)

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
        raise self._unavailable(uri)

    def _unavailable(self, uri: str) -> ProviderUnavailableError:
        way = self.instead.format(uri=uri)
        return ProviderUnavailableError(
            f"{self.label} provider is not yet implemented; bring the data here first, then load "
            f"it:\n  {way}\n  load_remote('{self.here}')"
        )


class S3Provider(_Unavailable):
    """Amazon S3: `s3://bucket/path`. Not yet."""

    name = "s3"
    label = "S3"
    parts = ("bucket", "key")
    instead = "aws s3 sync s3://{uri} ./data"


class GCSProvider(_Unavailable):
    """Google Cloud Storage: `gs://bucket/path`. Not yet."""

    name = "gcs"
    label = "GCS"
    parts = ("bucket", "blob")
    instead = "gcloud storage cp -r gs://{uri} ./data"


class AzureProvider(_Unavailable):
    """Azure Blob Storage: `az://container/path`. Not yet."""

    name = "azure"
    label = "Azure"
    parts = ("container", "blob")
    instead = "azcopy copy 'https://ACCOUNT.blob.core.windows.net/{uri}' ./data --recursive"


class FTPProvider(_Unavailable):
    """FTP and SFTP servers: `ftp://host/path`. Not yet."""

    name = "ftp"
    label = "FTP"
    parts = ("host", "path")
    instead = "wget -r -nH -P ./data ftp://{uri}"

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The host, and the path from its root on."""
        host, _, path = uri.partition("/")
        return {"host": host, "path": f"/{path}"}


class HTTPProvider(_Unavailable):
    """Files of web servers: `https://host/data.zds`. Not yet."""

    name = "http"
    label = "HTTP"
    parts = ("host", "path")
    instead = "curl -L -o data.zds https://{uri}"
    here = "./data.zds"

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The address."""
        return {"url": uri}


class HuggingFaceProvider(_Unavailable):
    """Data sets of the HuggingFace Hub: `hf://owner/name`. Not yet."""

    name = "huggingface"
    label = "HuggingFace"
    parts = ("owner", "dataset")
    instead = "huggingface-cli download --repo-type dataset {uri} --local-dir ./data"
