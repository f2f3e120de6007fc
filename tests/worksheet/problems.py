"""Problems, cards and types for the tests of the worksheet."""

from __future__ import annotations

from hypothesis import strategies as st

from smemreuse.targets.cards import CARDS, Card
from smemreuse.worksheet import (
    Attention,
    Convolution,
    Decode,
    Elementwise,
    Gemm,
    Reduction,
    Workload,
)
from smemreuse.worksheet.elements import SIZES

GEMM = Gemm(4096, 4096, 4096)
EACH: tuple[Workload, ...] = (
    GEMM,
    Convolution(16, 56, 56, 256, 256, 3, 3, padding=1),
    Attention(4, 32, 4096, 4096, 128),
    Attention(4, 32, 1024, 4096, 64, causal=True),
    Decode(8, 32, 8, 8192, 128),
    Elementwise(1 << 26),
    Reduction(8192, 4096),
    Reduction(4, 1 << 24, sums_only=True),
)

_SMALL, _SIZE = st.integers(1, 64), st.integers(1, 5000)


def _decode(batch: int, shared: int, kv_heads: int, keys: int, dim: int) -> Decode:
    return Decode(batch, shared * kv_heads, kv_heads, keys, dim)


problems: st.SearchStrategy[Workload] = st.one_of(
    st.builds(Gemm, _SIZE, _SIZE, _SIZE),
    st.builds(
        Convolution,
        *(_SMALL, st.integers(7, 200), st.integers(7, 200), _SIZE, _SIZE),
        *(st.integers(1, 7), st.integers(1, 7), st.integers(1, 3), st.integers(0, 3)),
    ),
    st.builds(Attention, _SMALL, _SMALL, _SIZE, _SIZE, st.integers(1, 512), st.booleans()),
    st.builds(_decode, _SMALL, st.integers(1, 16), _SMALL, _SIZE, st.integers(1, 512)),
    st.builds(Elementwise, st.integers(1, 10**9), st.integers(1, 8)),
    st.builds(Reduction, st.integers(1, 10**6), st.integers(1, 10**6), st.booleans()),
)
cards: st.SearchStrategy[Card] = st.sampled_from(list(CARDS.values()))
dtypes = st.sampled_from(list(SIZES))
