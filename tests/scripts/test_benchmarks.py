"""The benchmarks' references against others, on small sizes, and that every tile can be built."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from fixtures.benchmarks import BENCHMARKS, dequantize
from scripts.benchmark_on_gpu import workers

pytestmark = pytest.mark.tilelang

SMALL: dict[str, dict[str, int]] = {
    "flash_forward_128": {"heads": 2, "length": 32, "dim": 8},
    "flash_forward_256": {"heads": 2, "length": 32, "dim": 16},
    "flash_backward": {"heads": 2, "length": 32, "dim": 8},
    "flash_backward_packed": {"batch": 3, "heads": 2, "total": 40, "longest": 20, "dim": 8},
    "mla_decode": {"batch": 2, "heads": 3, "length": 32, "dim": 16, "rope": 4},
    "gqa_decode": {"batch": 2, "groups": 2, "heads": 4, "length": 32, "dim": 8, "splits": 4},
    "chunk_scan": {"chunks": 2, "chunk": 16, "heads": 3, "dim": 4, "state": 8},
    "chunk_scan_fenced": {"chunks": 2, "chunk": 16, "heads": 3, "dim": 4, "state": 8},
    "chunk_state": {"chunks": 2, "chunk": 16, "heads": 3, "dim": 4, "state": 8},
    "gated_delta": {"heads": 2, "length": 32, "chunk": 8, "dim": 8},
    "dequantize_gemm": {"M": 8, "N": 12, "K": 16},
    "batched_gemm": {"batch": 2, "M": 8, "N": 12, "K": 16},
    "batched_gemm_plain": {"batch": 2, "M": 8, "N": 12, "K": 16},
    "persistent_gemm": {"M": 8, "N": 12, "K": 16},
}

CPP_WORDS = {"new", "delete", "this", "class", "template", "operator", "private", "namespace"}
"""TileLang's host code is C++, and has the names of the arguments."""


def small(name: str) -> tuple[tuple[torch.Tensor, ...], dict[int, torch.Tensor]]:
    """Inputs of a small size, and the reference's answers."""
    benchmark, generator = BENCHMARKS[name], torch.Generator().manual_seed(1)
    args = benchmark.inputs(SMALL[name], generator, torch.device("cpu"))
    return args, benchmark.reference(args, SMALL[name])


def doubles(args: Any) -> list[torch.Tensor]:
    return [arg.double() for arg in args]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_tile_can_be_built(name: str) -> None:
    benchmark = BENCHMARKS[name]
    assert set(benchmark.shape) >= set(SMALL[name])
    for tile in benchmark.tiles:
        func = benchmark.make(**benchmark.config(tile))
        assert len(func.params) == len(small(name)[0])
        names = {func.buffer_map[parameter].name for parameter in func.params}
        assert not names & CPP_WORDS


def test_each_tile_is_the_work_of_one_process() -> None:
    shared = [(named["benchmark"], named["tile"]) for named, _ in workers((), "sm_90a", "speed")]
    assert shared == [(name, tile) for name in BENCHMARKS for tile in tiles(name)]
    ((_, first), *_) = workers(["mla_decode"], "sm_90a", "speed")
    assert json.loads(first.command[-1]) == ["mla_decode", "64x64", "sm_90a", "speed"]


def tiles(name: str) -> list[str]:
    return list(BENCHMARKS[name].tiles)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_outputs_start_as_nothing_and_have_finite_answers(name: str) -> None:
    args, expected = small(name)
    for index, answer in expected.items():
        assert answer.shape == args[index].shape
        assert answer.dtype == torch.float64
        assert answer.isfinite().all()
        assert args[index].isnan().all() or not args[index].any()
    assert all(arg.isfinite().all() for at, arg in enumerate(args) if at not in expected)


def test_the_gradients_are_those_that_torch_finds() -> None:
    args, expected = small("flash_backward")
    Q, K, V = (one.requires_grad_() for one in doubles(args[:3]))
    torch.nn.functional.scaled_dot_product_attention(Q, K, V).backward(args[3].double())
    for index, tensor in zip((6, 7, 8), (Q, K, V), strict=True):
        assert tensor.grad is not None
        torch.testing.assert_close(expected[index], tensor.grad, rtol=1e-5, atol=1e-5)


def test_the_gradients_of_packed_sequences_are_those_that_torch_finds() -> None:
    args, expected = small("flash_backward_packed")
    assert args[6].tolist() == [0, 20, 30, 40]
    for begin, end in ((0, 20), (20, 30), (30, 40)):
        rows = [arg[begin:end].transpose(0, 1) for arg in doubles(args[:4])]
        Q, K, V = (one.requires_grad_() for one in rows[:3])
        torch.nn.functional.scaled_dot_product_attention(Q, K, V).backward(rows[3])
        for index, tensor in ((7, K), (8, V)):
            answer = expected[index][begin:end].transpose(0, 1)
            torch.testing.assert_close(answer, tensor.grad, rtol=1e-5, atol=1e-5)


def test_a_latent_cache_is_keys_and_values() -> None:
    args, expected = small("mla_decode")
    Q, Q_rope, cache, K_rope = doubles(args[:4])
    both = torch.cat((Q, Q_rope), -1), torch.cat((cache, K_rope), -1)
    answer = torch.nn.functional.scaled_dot_product_attention(*both, cache)
    torch.testing.assert_close(expected[4], answer)


def test_splits_of_a_cache_add_up() -> None:
    args, expected = small("gqa_decode")
    weights = torch.softmax(expected[4] * 0.6931471805599453, dim=2)
    answer = torch.nn.functional.scaled_dot_product_attention(*doubles(args[:3]))
    torch.testing.assert_close((expected[3] * weights[..., None]).sum(2), answer, rtol=1e-6, atol=0)


def test_a_scan_goes_on_from_the_state_before_it() -> None:
    """Position by position: with `CB = C B^T` for some `B`, the state takes in what comes."""
    args, _ = small("chunk_scan")
    CB, X, dt, decay, C, S, D, Y = doubles(args)
    B = torch.randn(C.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    CB = C @ B.transpose(1, 2)
    found = BENCHMARKS["chunk_scan"].reference((CB, X, dt, decay, C, S, D, Y), SMALL["chunk_scan"])[
        7
    ]
    state, before = S.clone(), torch.zeros_like(decay[:, :, 0])
    for at in range(X.shape[1]):
        fall = torch.exp(decay[:, :, at] - before)[..., None, None]
        taken = (dt[:, :, at, None] * X[:, at])[..., None] * B[:, at, None, None, :]
        state, before = state * fall + taken, decay[:, :, at]
        answer = (state @ C[:, at, None, :, None])[..., 0] + D[:, None] * X[:, at]
        torch.testing.assert_close(found[:, at], answer)


def test_a_chunk_adds_to_the_state_position_by_position() -> None:
    args, expected = small("chunk_state")
    X, B, dt, decay = doubles(args[:4])
    state, before = torch.zeros_like(expected[4]), torch.zeros_like(decay[:, :, 0])
    for at in range(X.shape[1]):
        fall = torch.exp(decay[:, :, at] - before)[..., None, None]
        taken = (dt[:, :, at, None] * X[:, at])[..., None] * B[:, at, None, None, :]
        state, before = state * fall + taken, decay[:, :, at]
    torch.testing.assert_close(expected[4], state)


def test_a_gated_state_forgets_and_learns_position_by_position() -> None:
    args, expected = small("gated_delta")
    K, _, _, gate = doubles(args[:4])
    state = torch.zeros_like(expected[4][:, 0])
    chunk = SMALL["gated_delta"]["chunk"]
    for at in range(K.shape[1]):
        if at % chunk == 0:
            torch.testing.assert_close(expected[4][:, at // chunk], state)
        fall = gate[:, at] - (gate[:, at - 1] if at % chunk else 0)
        learnt = K[:, at, :, None] * expected[5][:, at, None, :]
        state = torch.exp(fall)[:, None, None] * state + learnt


def test_four_bits_are_a_sign_two_of_exponent_and_one_of_mantissa() -> None:
    args, expected = small("dequantize_gemm")
    A, packed = args[0].double(), args[1].int()
    N, K = SMALL["dequantize_gemm"]["N"], SMALL["dequantize_gemm"]["K"]
    weights = torch.empty((N, K), dtype=torch.float64)
    for n in range(N):
        for k in range(K):
            code = int(packed[n, k // 2]) >> 4 * (k % 2) & 15
            exponent, mantissa = code >> 1 & 3, code & 1
            size = 2 ** (exponent - 1) * (1 + mantissa / 2) if exponent else mantissa / 2
            weights[n, k] = -size if code & 8 else size
    torch.testing.assert_close(expected[2], weights @ A.T)


def test_the_kernel_makes_a_half_of_each_code() -> None:
    """The bits that it shifts into place, times 2 to the 14th."""
    codes = torch.arange(16, dtype=torch.int32)
    bits = ((codes & 8) << 12) | ((codes & 7) << 9)
    halves = bits.to(torch.uint16).view(torch.float16) * 16384
    assert halves[:8].tolist() == list(dequantize.VALUES)
    assert halves[8:].tolist() == [-value for value in dequantize.VALUES]
