"""Append the footer that makes a shared library a DuckDB extension.

usage: package.py LIBRARY OUTPUT

The footer is a WebAssembly custom section (so that a Wasm build can carry it too): a header, eight
fields of 32 bytes, last field first, and room for a signature.
"""

import pathlib
import platform
import re
import sys

MANIFEST = pathlib.Path(__file__).resolve().parent.parent / "Cargo.toml"


def platform_name():
    machine = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    system = {"Linux": "linux", "Darwin": "osx", "Windows": "windows"}[platform.system()]
    return f"{system}_{machine}"


def footer(abi, extension_version, api_version):
    fields = ["", "", "", abi, extension_version, api_version, platform_name(), "4"]
    body = b"".join(field.encode().ljust(32, b"\0") for field in fields)
    header = b"\x00\x93\x04\x10duckdb_signature\x80\x04"
    return header + body + b"\0" * 256


def extension_version():
    return "v" + re.search(r'^version = "(.+)"', MANIFEST.read_text(), re.MULTILINE).group(1)


def main():
    library, output = sys.argv[1:]
    with open(library, "rb") as source:
        content = source.read()
    with open(output, "wb") as target:
        target.write(content + footer("C_STRUCT", extension_version(), "v1.5.6"))


if __name__ == "__main__":
    main()
