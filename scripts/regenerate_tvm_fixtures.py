"""Write each Apache TVM fixture's TIR, just before TVM merges shared memory, to fixtures/tvm_dumps.

Needs Apache TVM 0.27, but no GPU and no nvcc.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DUMPS = ROOT / "fixtures" / "tvm_dumps"
sys.path.insert(0, str(ROOT))

from scripts.regenerate_fixtures import is_stale  # noqa: E402


def dumps(names: Sequence[str]) -> dict[Path, str]:
    """The text of every dump of the named fixtures, or of all of them, by path."""
    from fixtures.tvm import FIXTURES
    from fixtures.tvm.lowering import capture

    texts = {}
    for name in names or FIXTURES:
        if name not in FIXTURES:
            raise ValueError(f"no fixture is called {name!r}; there are {', '.join(FIXTURES)}")
        fixture = FIXTURES[name]
        before, _ = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
        texts[DUMPS / f"{name}.tir"] = before.script().rstrip("\n") + "\n"
    return texts


def main() -> int:
    """Write the dumps, or with --check say which are stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("names", nargs="*", help="fixtures to dump (default: all)")
    options = parser.parse_args()
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
