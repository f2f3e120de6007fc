"""Write each kernel fixture's TIR, just before its compiler merges shared memory, to fixtures.

    python -m scripts.regenerate_fixtures [--check]          # TileLang's, to fixtures/dumps
    python -m scripts.regenerate_fixtures --tvm [--check]    # Apache TVM's, to fixtures/tvm_dumps

Needs TileLang and PyTorch, or Apache TVM 0.27; no GPU and no nvcc.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from scripts.results import ROOT, options_of

DUMPS = ROOT / "fixtures" / "dumps"
TVM_DUMPS = ROOT / "fixtures" / "tvm_dumps"

# File name part -> arch and pass configuration. "plain" is cp.async and wgmma, with neither TMA
# nor warp specialization.
VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    "sm_80": ("sm_80", {}),
    "sm_90a": ("sm_90a", {}),
    "sm_90a-plain": (
        "sm_90a",
        {"tl.disable_warp_specialized": True, "tl.disable_tma_lower": True},
    ),
}
SHOWN_DIFF_LINES = 20

Fixture = TypeVar("Fixture")


def dumps(names: Sequence[str]) -> dict[Path, str]:
    """The text of every dump of the named fixtures for TileLang, or of all of them, by path."""
    from fixtures.kernels import FIXTURES
    from fixtures.kernels.lowering import capture

    texts = {}
    for name, fixture in _named(names, FIXTURES).items():
        prim_func = fixture.make(**fixture.configs["small"])
        for variant in fixture.variants or VARIANTS:
            arch, pass_configs = VARIANTS[variant]
            texts[DUMPS / f"{name}.{variant}.tir"] = capture(prim_func, arch, pass_configs)
    return texts


def tvm_dumps(names: Sequence[str]) -> dict[Path, str]:
    """The same of the fixtures for Apache TVM."""
    from fixtures.tvm import FIXTURES
    from fixtures.tvm.lowering import capture

    texts = {}
    for name, fixture in _named(names, FIXTURES).items():
        before, _ = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
        texts[TVM_DUMPS / f"{name}.tir"] = before.script().rstrip("\n") + "\n"
    return texts


def _named(names: Sequence[str], fixtures: Mapping[str, Fixture]) -> dict[str, Fixture]:
    for name in names:
        if name not in fixtures:
            raise ValueError(f"no fixture is called {name!r}; there are {', '.join(fixtures)}")
    return {name: fixtures[name] for name in names or fixtures}


def is_stale(path: Path, text: str) -> bool:
    """Whether ``path`` is missing or differs from ``text``; says so, with the first differences."""
    where = str(path.relative_to(ROOT))
    if not path.exists():
        print(f"{where}: missing")
        return True
    before = path.read_text()
    if before == text:
        return False
    sides = before.splitlines(), text.splitlines()
    diff = list(difflib.unified_diff(*sides, where, "made anew", n=1, lineterm=""))
    print(*diff[:SHOWN_DIFF_LINES], sep="\n")
    if len(diff) > SHOWN_DIFF_LINES:
        print(f"... and {len(diff) - SHOWN_DIFF_LINES} more lines of difference")
    return True


def renew(texts: Mapping[Path, str], *, check: bool) -> int:
    """Writes what is stale, or with `check` only says so and gives 1."""
    stale = [path for path, text in texts.items() if is_stale(path, text)]
    for path in [] if check else stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path])
    return int(check and bool(stale))


def main() -> int:
    parser = options_of(__doc__, "check")
    parser.add_argument("--tvm", action="store_true", help="the fixtures for Apache TVM")
    parser.add_argument("names", nargs="*", help="fixtures to dump (default: all)")
    options = parser.parse_args()
    made: Callable[[Sequence[str]], dict[Path, str]] = tvm_dumps if options.tvm else dumps
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        try:
            texts = made(options.names)
        except ValueError as error:
            parser.error(str(error))
    return renew(texts, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
