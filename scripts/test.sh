#!/usr/bin/env bash
# Sets up the test environments and runs every check: lint, types, and all tests.
#   scripts/test.sh [pytest arguments]
#   scripts/test.sh --versions [0.1.12 ...]    the doors alone, in older versions of TileLang
# PYTHON names the interpreter to build them with (default: python3, 3.10 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
# Two environments: TileLang brings a TVM of its own, and the two cannot share one.
tilelang=.venv-tilelang
tvm=.venv-tvm
make_env() { [ -x "$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$1"; }
pip() { "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"; }

make_env "$tilelang"
pip "$tilelang" -c constraints.txt torch
pip "$tilelang" -c constraints.txt -e '.[tilelang,dev]'
# TileLang finds an nvcc on the PATH, or else the one in this wheel.
command -v nvcc >/dev/null ||
  pip "$tilelang" -c constraints.txt 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-cccl==13.*'
make_env "$tvm"
pip "$tvm" -c constraints-tvm.txt -e '.[tvm,dev]'

if [ "${1:-}" = --versions ]; then
  exec scripts/test_versions.sh "${@:2}"
fi
"$tilelang/bin/ruff" check .
"$tilelang/bin/ruff" format --check .
"$tilelang/bin/mypy"
"$tilelang/bin/python" -m pytest -n auto --dist loadgroup "$@"
"$tvm/bin/python" -m pytest -n auto -m tvm "$@"
