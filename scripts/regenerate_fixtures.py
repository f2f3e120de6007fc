"""Write each kernel fixture's TIR, just before TileLang merges shared memory, to fixtures/dumps.

Needs TileLang and PyTorch, but no GPU and no nvcc.
"""

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DUMPS = ROOT / "fixtures" / "dumps"

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


def dumps(names: list[str]) -> dict[Path, str]:
    """The text of every dump of the named fixtures, or of all of them, by path."""
    from fixtures.kernels import FIXTURES
    from fixtures.kernels.lowering import capture

    texts = {}
    for name in names or FIXTURES:
        if name not in FIXTURES:
            raise ValueError(f"no fixture is called {name!r}; there are {', '.join(FIXTURES)}")
        fixture = FIXTURES[name]
        prim_func = fixture.make(**fixture.configs["small"])
        for variant in fixture.variants or VARIANTS:
            arch, pass_configs = VARIANTS[variant]
            texts[DUMPS / f"{name}.{variant}.tir"] = capture(prim_func, arch, pass_configs)
    return texts


def is_stale(path: Path, text: str) -> bool:
    """Whether ``path`` is missing or differs from ``text``; says so, with the first differences."""
    where = str(path.relative_to(ROOT))
    if not path.exists():
        print(f"{where}: missing")
        return True
    before = path.read_text()
    if before == text:
        return False
    diff = list(
        difflib.unified_diff(
            before.splitlines(), text.splitlines(), where, "regenerated", n=1, lineterm=""
        )
    )
    print(*diff[:SHOWN_DIFF_LINES], sep="\n")
    if len(diff) > SHOWN_DIFF_LINES:
        print(f"... and {len(diff) - SHOWN_DIFF_LINES} more lines of difference")
    return True


def main() -> int:
    """Write the dumps, or with --check say which are stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("names", nargs="*", help="fixtures to dump (default: all)")
    options = parser.parse_args()

    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        try:
            texts = dumps(options.names)
        except ValueError as error:
            parser.error(str(error))
    if options.check:
        return int(sum(is_stale(path, text) for path, text in texts.items()) > 0)
    DUMPS.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
