"""The verdict on what a compiler has merged in each dump of a folder.

    python -m scripts.census DIR --out docs/results/tvm-audits.json

Each file is put to `smemreuse check`; of what is judged as merged in the file, the verdict is told
with the first of its witnesses. Files that are refused are listed with the reason.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from scripts.results import options_of, write
from smemreuse.cli import main as smemreuse

BAD_INPUT = 2

Data = dict[str, Any]


def audited(file: Path) -> list[Data] | None:
    """The entries of `check` for a file; None where it refuses it, and says why."""
    done = CliRunner().invoke(smemreuse, ["check", str(file), "--format", "json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code == BAD_INPUT:
        print(f"refused: {done.stderr.strip()}")
        return None
    found: list[Data] = json.loads(done.stdout)["kernels"]
    return found


def told(audit: Data) -> Data:
    """The verdict on what is merged in a file, with the first of its witnesses."""
    kept = {key: audit[key] for key in ("scope", "arena_bytes", "verdict")}
    first = audit["violations"][0] if audit["violations"] else {}
    return {"kernel": audit["name"], **kept, **first}


def main() -> None:
    parser = options_of(__doc__, "out")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pattern", default="*.tir")
    options = parser.parse_args()
    audits = [audited(file) for file in sorted(options.folder.glob(options.pattern))]
    read = [entries for entries in audits if entries is not None]
    merged = [
        told(one) for entries in read for one in entries if one["plan"] == "merged in the file"
    ]
    print(f"{len(read)} read, merged in {len(merged)}:", Counter(one["verdict"] for one in merged))
    data = {"schema": "smemreuse.audits/1", "read": len(read), "kernels": merged}
    write(options.out, data, 3)


if __name__ == "__main__":
    main()
