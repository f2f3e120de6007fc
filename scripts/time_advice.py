"""How long `smemreuse.tilelang.advise` takes for a thousand configurations of a GEMM.

    python -m scripts.time_advice --out docs/results/advice-time.json

Needs TileLang, and no GPU. Half of the configurations differ from the other half in the order of
their blocks alone.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator

from scripts.results import about, options_of, write

SIZES = {"M": 4096, "N": 4096, "K": 4096}
COUNT = 1000


def configs() -> Iterator[dict[str, int]]:
    """The space of `fixtures.spaces.gemm`, larger and whole."""
    names = ("block_M", "block_N", "block_K", "num_stages", "threads", "swizzle")
    sides = ((32, 64, 128, 256), (32, 64, 128, 256), (16, 32, 64, 128))
    for values in itertools.product(*sides, (2, 3, 4, 5), (128, 256), (0, 1)):
        yield dict(zip(names, values, strict=True))


def main() -> None:
    options = options_of(__doc__, "out", "jobs").parse_args()
    from fixtures.spaces.gemm import make
    from smemreuse.tilelang import advise

    chosen = list(itertools.islice(configs(), COUNT))
    begin = time.perf_counter()
    found = advise(functools.partial(make, **SIZES), chosen, arch="sm_90a", jobs=options.jobs)
    data = {
        **about("advice-time"),
        "jobs": options.jobs,
        "configurations": len(chosen),
        "launch": len(found.ranked),
        "too_large": len(found.too_large),
        "not_lowered": len(found.failed),
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(data)
    write(options.out, data)


if __name__ == "__main__":
    main()
