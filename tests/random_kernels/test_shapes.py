"""What becomes of a random kernel on a grid that rows decide, or with static shared memory."""

from __future__ import annotations

from tests.random_kernels.choices import source_of
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.shapes import ROWS, on_rows, partly_static
from tests.random_kernels.text import kernel_of

EACH = 24


def test_kernels_of_both_scopes_come() -> None:
    both = 0
    for family, grow in FAMILIES.items():
        for seed in range(EACH):
            pick = source_of(seed)
            text = partly_static(grow(pick), pick)
            scopes = set(kernel_of(text).shared_scopes())
            assert scopes <= {"shared", "shared.dyn"}, family
            both += len(scopes) == 2
    assert both > EACH


def test_rows_decide_the_grid_and_what_data_did() -> None:
    of_all = of_threads = lengths = 0
    for grow in FAMILIES.values():
        for seed in range(EACH):
            pick = source_of(seed)
            text = on_rows(grow(pick), pick)
            assert (ROWS in text) == (f"{ROWS} = T.int32()" in text)
            of_threads += f"+ tx < {ROWS}" in text
            of_all += f"< {ROWS}:" in text.replace(f"tx < {ROWS}", "")
            lengths += f"range(T.min({ROWS}" in text
    assert min(of_all, of_threads, lengths) > 0
