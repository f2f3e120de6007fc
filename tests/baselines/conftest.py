"""Which compiler is here: TileLang has a package called `tvm` too, so the distribution counts."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from importlib.metadata import PackageNotFoundError, version

try:
    version("apache-tvm")
    _HAS_APACHE = True
except PackageNotFoundError:
    _HAS_APACHE = False

collect_ignore = []
if not _HAS_APACHE:
    collect_ignore += ["apache.py", "test_tvm.py", "test_tvm_faults.py", "test_tvm_fixtures.py"]
if importlib.util.find_spec("tilelang") is None:
    collect_ignore += ["test_tilelang.py"]
else:
    os.environ.setdefault("TILELANG_CACHE_DIR", tempfile.mkdtemp(prefix="smemreuse-tests-"))
