"""The terms of the methodology, each a formula with its units and its source.

Flops are multiplications and additions, so that a multiply-add is two. Cycles are those of the SM's
clock. Sources: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009; Little, "A proof for
the queuing formula L = lambda W", Operations Research 9(3), 1961; Volkov, "Understanding latency
hiding on GPUs", UC Berkeley, 2016. `docs/advise.md` tells where other wordings go wrong.
"""

from __future__ import annotations

import math


def gemm_tile_flops(bm: int, bn: int, bk: int) -> int:
    """Flops of one step of a tile: `2 BM BN BK`."""
    return 2 * bm * bn * bk


def gemm_tile_bytes(bm: int, bn: int, bk: int, size: float) -> float:
    """Bytes that a block loads for one step: `(BM BK + BK BN) b`, b bytes an element.

    These come from L2; DRAM sees fewer where other blocks of the wave load the same tiles.
    """
    return (bm * bk + bk * bn) * size


def intensity(flops: float, moved: float) -> float:
    """Flops for each byte: the abscissa of the roofline (Williams et al. 2009)."""
    return flops / moved if moved else math.inf


def ridge_point(peak: float, bandwidth: float) -> float:
    """The intensity from which on the peak is the roof: flops/s over bytes/s = flops/byte."""
    return peak / bandwidth


def attainable(peak: float, bandwidth: float, flops_per_byte: float) -> float:
    """The roof at an intensity, in flops/s: `min(peak, bandwidth I)` (Williams et al. 2009)."""
    return min(peak, bandwidth * flops_per_byte)


def compute_cycles(flops: float, flops_per_cycle: float) -> float:
    """Cycles that an SM takes for so many flops at its full rate."""
    return flops / flops_per_cycle


def stages_needed(latency: float, step: float, blocks: int = 1) -> int:
    """Buffers of a pipeline that hide a latency: `S = ceil(L / (r T)) + 1`, all in cycles.

    One is computed on, and `S - 1` are in flight (Little 1961: in flight = rate x latency, the rate
    being one tile every `r T` cycles). `latency` is from a load's issue to the last of its bytes;
    `step` is the time T of one tile at the SM's full rate, of computing or of loading, whichever is
    longer; with r resident `blocks` that share the SM a block's own tile takes r times as long.
    """
    return math.ceil(latency / (blocks * step)) + 1 if step else 2


def pipeline_time(
    latency: float, transfer: float, compute: float, steps: float, stages: int
) -> float:
    """The least that a loop over `stages` buffers takes, in the unit of its arguments.

    A buffer is filled, which takes the latency and the transfer of its bytes, then computed on,
    then filled anew: it goes round `steps / S` times, and at least once. No two of the three
    overlap in one buffer; with `S = (L + transfer) / T + 1` a round is as long as computing on all.
    """
    return max(1.0, steps / stages) * (latency + transfer + compute)


def bytes_in_flight(latency: float, bandwidth: float, clock: float) -> float:
    """Bytes that must be under way to fill a bandwidth: `L / f x BW` (Little 1961).

    Cycles over cycles/s are seconds, times bytes/s are bytes. `bandwidth` is of the whole card, so
    the bytes are of the whole card, too; an SM's share is that over the number of SMs.
    """
    return latency / clock * bandwidth


def waves(grid: int, sms: int, blocks: int) -> float:
    """How often the card is filled: blocks of the grid over what is resident at once."""
    return grid / (sms * blocks)


def balance(grid: int, sms: int) -> float:
    """What of the SMs' time is used: mean blocks of an SM over those of the busiest, at most 1.

    Resident blocks share their SM, so it is the SM that has one block more than others that the
    end waits for, however many are resident. For blocks of equal work.
    """
    return grid / (math.ceil(grid / sms) * sms)


def wave_traffic(
    rows: int, columns: int, row_bytes: float, column_bytes: float, slots: int, l2_bytes: float
) -> float:
    """Bytes from DRAM of a grid of rows x columns; a block reads its row and its column.

    Blocks of a wave lie in a square, as a rasterization in panels places them, and what they read
    in common comes from DRAM once. Across waves L2 keeps nothing, unless all of it fits. The lower
    bound is that all is read once, the upper that each block reads its own.
    """
    once = rows * row_bytes + columns * column_bytes
    if once <= l2_bytes:
        return once
    grid = rows * columns
    slots = min(slots, grid)
    high = min(rows, max(math.isqrt(slots), math.ceil(slots / columns)))
    wide = min(columns, math.ceil(slots / high))
    of_a_wave = high * row_bytes + wide * column_bytes
    all_of_it = math.ceil(rows / high) * math.ceil(columns / wide) * of_a_wave
    return min(max(once, all_of_it), grid * (row_bytes + column_bytes))
