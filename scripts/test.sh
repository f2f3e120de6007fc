#!/usr/bin/env bash
# Sets up the test environments and runs every check: lint, types, and all tests.
#   scripts/test.sh [pytest arguments]
# PYTHON names the interpreter to build them with (default: python3, 3.10 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
env=.venv-tilelang
[ -x "$env/bin/python" ] || "${PYTHON:-python3}" -m venv "$env"
pip() { "$env/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt "$@"; }
pip torch
pip -e '.[tilelang,dev]'
# TileLang finds an nvcc on the PATH, or else the one in this wheel.
command -v nvcc >/dev/null || pip 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-cccl==13.*'

"$env/bin/ruff" check .
"$env/bin/ruff" format --check .
"$env/bin/mypy"
"$env/bin/python" -m pytest "$@"
