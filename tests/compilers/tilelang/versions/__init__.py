"""Every door of smemreuse, in whatever version of TileLang is installed; `scripts/test.sh --versions` runs these in all."""
