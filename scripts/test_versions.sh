#!/usr/bin/env bash
# Runs the tests of doors with each older TileLang of constraints-versions.txt, or with those that
# are named: scripts/test_versions.sh [0.1.12 ...]. It needs the environment of scripts/test.sh.
set -uo pipefail
cd "$(dirname "$0")/.."
base=$PWD/.venv-tilelang
shared=$("$base/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
failed=()

# An environment has TileLang and what must lie beside it; all else is the base environment's.
make_env() { # environment, requirements of TileLang and its ffi
  local place
  "$base/bin/python" -m venv --without-pip "$1" &&
    place=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
    "$base/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
      --target "$place" "${@:2}" 'z3-solver<4.15.5,>=4.13.0' &&
    echo "$shared" >"$place/shared.pth" && touch "$1/done"
}

while read -r tilelang ffi; do
  version=${tilelang#tilelang==}
  [ "$#" = 0 ] || [[ " $* " == *" $version "* ]] || continue
  echo "TileLang $version:"
  env=.venv-versions/$version
  [ -e "$env/done" ] || { rm -rf "$env" && make_env "$env" "$tilelang" "$ffi"; } ||
    { failed+=("TileLang $version: its environment"); continue; }
  "$env/bin/python" -m pytest -q -n auto tests/compilers/tilelang/versions </dev/null ||
    failed+=("TileLang $version: the tests of doors")
done < <(grep '^tilelang==' constraints-versions.txt)

for step in "${failed[@]}"; do echo "Failed: $step"; done
exit "$((${#failed[@]} > 0))"
