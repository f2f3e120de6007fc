"""Every door, in whatever TileLang is installed; `scripts/test.sh --versions` runs it in each."""
