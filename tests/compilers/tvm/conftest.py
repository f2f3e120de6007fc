"""Tests that need Apache TVM; none is collected where only TileLang's `tvm` is, or none at all."""

from __future__ import annotations

import importlib.metadata
import sys

from tests.conftest import ROOT

try:
    importlib.metadata.distribution("apache-tvm")
except importlib.metadata.PackageNotFoundError:
    collect_ignore_glob = ["test_*.py"]
else:
    sys.path.insert(0, str(ROOT))
