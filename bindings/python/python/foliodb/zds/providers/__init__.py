"""Where data sets come from, with the names of ZDS: a provider for each scheme of an address.

Git repositories work. The other providers parse their addresses, and say how to get the data by
other means.
"""

from __future__ import annotations

from .base import DatasetInfo, Provider, ProviderRegistry
from .git import GIT_HOSTS, GitProvider
from .stubs import (
    AzureProvider,
    FTPProvider,
    GCSProvider,
    HTTPProvider,
    HuggingFaceProvider,
    S3Provider,
)

__all__ = [
    "AzureProvider",
    "DatasetInfo",
    "FTPProvider",
    "GCSProvider",
    "GIT_HOSTS",
    "GitProvider",
    "HTTPProvider",
    "HuggingFaceProvider",
    "Provider",
    "ProviderRegistry",
    "S3Provider",
]

_SCHEMES: dict[type[Provider], tuple[str, ...]] = {
    GitProvider: (
        *("git", "github", "gh", "gitlab", "gl", "bitbucket", "bb", "codeberg"),
        *("file", "ssh", "git+https", "git+http", "git+ssh", "git+file"),
    ),
    S3Provider: ("s3",),
    GCSProvider: ("gcs", "gs"),
    AzureProvider: ("azure", "az"),
    FTPProvider: ("ftp", "sftp"),
    HTTPProvider: ("http", "https"),
    HuggingFaceProvider: ("hf", "huggingface"),
}

for _provider, _schemes in _SCHEMES.items():
    for _scheme in _schemes:
        ProviderRegistry.register(_scheme, _provider)
