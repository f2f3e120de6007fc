"""Hold the packers against one another: arena over lower bound, and time.

    python -m scripts.benchmark_packers [--out docs/results/packers.json] [--seconds 10]

`greedy by size` is TFLite's planner: largest first, into the smallest gap that holds it. Instances
are random live ranges, chains of layers as in a network, and rectangles: a memory of known size cut
to pieces, so that a packing without any gap exists, as tight as the bound. Large ones of these are
the hard instances, put to our own exact search and to CP-SAT.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from scripts.results import about, options_of, write
from smemreuse.planner import PACKERS, Placement, Problem, cpsat, exact, validate
from smemreuse.planner.exact import Budget
from smemreuse.planner.greedy import best_fit, greedy

Ranges = list[tuple[int, int, int]]  # size, begin, end
SEED = 20_240
COUNTS = (4, 8, 16, 32, 100, 1_000, 10_000)
HARD = (150, 250, 350, 450)
REPEATS = {4: 200, 8: 200, 16: 100, 32: 100}


def random_ranges(rng: random.Random, count: int) -> Ranges:
    begins = [rng.randrange(4 * count) for _ in range(count)]
    sizes = [rng.randrange(1, 64) * 256 for _ in range(count)]
    pairs = zip(sizes, begins, strict=True)
    return [(size, begin, begin + rng.randrange(1, 200)) for size, begin in pairs]


def layers(rng: random.Random, count: int) -> Ranges:
    """Each layer's output lives until the next one has read it; some are read much later."""
    return [
        (rng.choice((256, 512, 1024, 4096)) * 16, step, step + 2 + (rng.random() < 0.2) * 20)
        for step in range(count)
    ]


def rectangles(rng: random.Random, count: int) -> Ranges:
    """A rectangle of 1,024 positions and 1 MB, cut at random until there are enough pieces."""
    pieces = [(0, 1024, 0, 1 << 20)]
    while len(pieces) < count:
        index = rng.randrange(len(pieces))
        begin, end, low, high = pieces[index]
        across = rng.random() < 0.5
        span = end - begin if across else (high - low) // 16
        if span < 2:
            continue
        cut = rng.randrange(1, span)
        if across:
            halves = (begin, begin + cut, low, high), (begin + cut, end, low, high)
        else:
            halves = (begin, end, low, low + 16 * cut), (begin, end, low + 16 * cut, high)
        pieces[index : index + 1] = halves
    return [(high - low, begin, end) for begin, end, low, high in pieces]


def problem_of(ranges: Ranges) -> Problem:
    sizes = [size for size, _, _ in ranges]
    return Problem.from_intervals(sizes, [16] * len(sizes), [(b, e) for _, b, e in ranges])


def greedy_by_size(problem: Problem) -> Placement:
    """TFLite's planner: largest first, each into the smallest gap between its conflicts."""
    items = range(len(problem.sizes))
    return best_fit(problem, sorted(items, key=lambda item: (-problem.sizes[item], item)))


CONTESTANTS: dict[str, Callable[[Problem], Placement]] = {
    **PACKERS,
    "greedy by size": greedy_by_size,
}
SEARCHES = {"own search": exact.within, "CP-SAT": cpsat.within}
CHECKED = ("best", "tilelang", "greedy by size")  # TVM's packer breaks some problems


def instances() -> Iterator[tuple[str, int, list[Problem]]]:
    rng = random.Random(SEED)
    for kind, make in (("random", random_ranges), ("layers", layers), ("rectangles", rectangles)):
        for count in COUNTS:
            repeats = REPEATS.get(count, 1)
            yield kind, count, [problem_of(make(rng, count)) for _ in range(repeats)]


def measured(kind: str, count: int, problems: list[Problem]) -> dict[str, object]:
    row: dict[str, object] = {"kind": kind, "items": count, "instances": len(problems)}
    for name, packer in CONTESTANTS.items():
        times, gaps, proved = [], [], 0
        for problem in problems:
            begin = time.perf_counter()
            placement = packer(problem)
            times.append(time.perf_counter() - begin)
            if name in CHECKED:
                validate(problem, placement)
            gaps.append(placement.arena / problem.lower_bound)
            proved += placement.proved
        row[name] = {
            "gap": round(sum(gaps) / len(gaps), 4),
            "median_ms": round(sorted(times)[len(times) // 2] * 1e3, 3),
            "proved": proved,
        }
    return row


def attempted(count: int, seconds: float) -> dict[str, object]:
    """A hard instance: the capacity is exactly peak live, and a packing is known to exist."""
    problem = problem_of(rectangles(random.Random(SEED + count), count))
    row: dict[str, object] = {"items": count}
    row["greedy gap"] = round(greedy(problem, 0).arena / problem.lower_bound, 4)
    for name, search in SEARCHES.items():
        begin = time.perf_counter()
        budget = Budget(10**9, time.monotonic() + seconds)
        placement = search(problem, problem.lower_bound, budget)
        taken = round(time.perf_counter() - begin, 2)
        if placement is not None:
            validate(problem, placement)
        solved = "solved" if placement is not None else "not proved"
        row[name] = {"result": solved, "seconds": taken}
    return row


def main() -> None:
    parser = options_of(__doc__, "out")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each hard instance")
    options = parser.parse_args()
    rows, hard = [], []
    for kind, count, problems in instances():
        rows.append(measured(kind, count, problems))
        print(rows[-1], flush=True)
    for count in HARD:
        hard.append(attempted(count, options.seconds))
        print(hard[-1], flush=True)
    write(options.out, {**about("packers"), "rows": rows, "hard": hard})


if __name__ == "__main__":
    main()
