"""Tests of the engines that read and write collections: `scripts/engines test`."""
