#!/usr/bin/env bash
# Builds a wheel and an sdist, and checks what people install: metadata, contents, and that each
# works in an environment of its own. The first argument is a folder for all of it.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$1
install() { "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"; }

python3 -m venv "$scratch/tools"
install "$scratch/tools" build twine
"$scratch/tools/bin/python" -m build --outdir "$scratch/dist" . >"$scratch/build.log"
"$scratch/tools/bin/twine" check --strict "$scratch"/dist/*

"$scratch/tools/bin/python" - "$scratch"/dist/*.whl "$scratch"/dist/*.tar.gz <<'PYTHON'
import subprocess, sys, tarfile, zipfile

wheel, sdist = sys.argv[1:]
tracked = set(subprocess.check_output(["git", "ls-files", "smemreuse"], text=True).split())
inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
packed = {name.split("/", 1)[1] for name in tarfile.open(sdist).getnames() if "/" in name}
for what, found in (("the wheel", inside), ("the sdist", packed)):
    missing = sorted(tracked - found)
    assert not missing, f"{what} lacks {missing}"
assert inside <= tracked, f"the wheel has {sorted(inside - tracked)}"
PYTHON

for one in "$scratch"/dist/*; do
  fresh="$scratch/$(basename "$one")-installed"
  python3 -m venv "$fresh"
  install "$fresh" "$one"
  "$fresh/bin/smemreuse" compare fixtures/dumps/*.tir >/dev/null
done
# It ends in 2, as bad input does; what counts is what it says.
without_graph=$("$fresh/bin/smemreuse" graph fixtures/dumps/gemm.sm_80.tir 2>&1 || true)
grep 'smemreuse\[graph\]' <<<"$without_graph"
