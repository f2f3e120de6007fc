"""Which thread asks, and what the threads of a warp tell each other through registers."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.semantics.effects import Answer, Effect, Group, Meeting, Rows, Together
from smemreuse.semantics.rows.forms import (
    EXCHANGED,
    IN_REGISTERS,
    SHUFFLED,
    each,
    merged,
    nothing,
    values,
    varying,
)

_WHO = merged(
    varying("get_lane_idx get_warp_idx get_warp_idx_sync get_warp_group_idx"),
    each("tl_shuffle_elect", EXCHANGED),
    varying("launch_thread_idx"),
    # The same for all threads of a block.
    values("block_rank_in_cluster cluster_block_rank"),
)

_WARP = merged(
    each(
        """
        any_sync all_sync ballot_sync match_any_sync match_all_sync
        shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync
        tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_warp_shuffle_xor
        """,
        SHUFFLED,
    ),
    each(
        "warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor",
        replace(EXCHANGED, together=Together.WARP),
    ),
    each("ballot", EXCHANGED),
    varying("activemask tvm_warp_activemask", IN_REGISTERS),
)

# All threads meet, and all of them get the one answer.
_VOTES = each(
    "syncthreads_count syncthreads_and syncthreads_or", Effect(meeting=Meeting(Group.BLOCK))
)

_RANDOM = merged(
    nothing("rng_init", "the state of the generator is a variable of the generated function"),
    each("rng_rand rng_rand_float", Effect(answer=Answer.VARIES, words="a random number")),
)

ROWS: Rows = merged(_WHO, _WARP, _VOTES, _RANDOM)
