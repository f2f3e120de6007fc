"""The pass and the pipeline: what they plan, and the CUDA that comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.tvm import FIXTURES
from smemreuse.errors import PlanError

pytestmark = pytest.mark.tvm


def merged(name: str, policy: str = "dataflow", config: str = "small", **options: Any) -> Any:
    """A fixture compiled under our merge: the session, and the CUDA source."""
    import smemreuse.tvm
    from fixtures.tvm.lowering import compile_module, cuda_source

    fixture = FIXTURES[name]
    options = {"objective": "bytes", **options}
    with smemreuse.tvm.merge(policy, **options) as session:
        module = compile_module(fixture.make(**fixture.configs[config]), fixture.pass_configs)
    return session, cuda_source(module)


def stock_bytes(name: str, config: str = "small") -> list[int]:
    from fixtures.tvm.lowering import capture, shared_bytes

    fixture = FIXTURES[name]
    _, after = capture(fixture.make(**fixture.configs[config]), fixture.pass_configs)
    found: list[int] = shared_bytes(after, "shared.dyn")
    return found


def test_a_session_tells_of_its_kernels_in_its_compiler_s_name() -> None:
    session, _ = merged("batched_gemm")
    told = str(session.explain())
    assert (
        "before by Apache TVM's own merge, after by smemreuse's for objective `bytes`"
        in " ".join(told.split())
    )
    assert "TileLang" not in told
    assert "Apache TVM's own" in session.report()


@pytest.mark.parametrize("name", list(FIXTURES))
@pytest.mark.parametrize("policy", ["outer", "dataflow"])
def test_every_plan_is_proved_on_the_merged_ir(name: str, policy: str) -> None:
    session, source = merged(name, policy)
    assert session.plans
    for applied in session.plans:
        assert applied.verdict.sound, applied.verdict
        assert all(
            plan.policy == "outer" and not verdict.sound for plan, verdict in applied.rejected
        )  # TVM's own
    assert "buf_dyn_shmem_ptr" in source or "buf_shmem_ptr" in source


@pytest.mark.parametrize(
    ("config", "before", "after"), [("small", 24_576, 16_384), ("wide", 253_952, 131_072)]
)
def test_batched_gemm_reuses_what_the_stock_pass_does_not(
    config: str, before: int, after: int
) -> None:
    session, _ = merged("batched_gemm", config=config)
    (applied,) = session.plans
    assert stock_bytes("batched_gemm", config) == [before]
    assert applied.plan.arena_bytes == after
    assert applied.plan.total_bytes == before


def test_buffers_behind_address_of_are_kept_apart() -> None:
    """TVM's own pass puts both at offset 0, because it does not count `address_of`."""
    session, _ = merged("address_of_alias")
    assert stock_bytes("address_of_alias") == [4_096]
    (applied,) = session.plans
    assert sorted(applied.plan.offsets.values()) == [0, 4_096]


def test_reuse_brings_the_barriers_that_it_needs() -> None:
    """Rule 6: `ThreadSync` has run before and saw buffers of their own."""
    apart, without = merged("same_index", objective="none")
    shared, source = merged("same_index")
    assert [applied.barriers for applied in (*apart.plans, *shared.plans)] == [0, 1]
    assert source.count("__syncthreads()") == without.count("__syncthreads()") + 1


def test_static_buffers_are_planned_apart_from_dynamic_ones() -> None:
    session, source = merged("static_phases")
    (applied,) = session.plans
    assert applied.plan.scope == "shared"
    assert applied.plan.arena_bytes < applied.plan.total_bytes
    assert "__shared__ alignas(64) uchar buf_shmem_ptr[4096]" in source


def test_static_buffers_that_share_nothing_stay_as_they_are() -> None:
    session, source = merged("static_phases", objective="none")
    assert session.plans == []
    assert "buf_shmem" not in source


def test_each_launch_has_a_plan_of_its_own() -> None:
    session, _ = merged("two_kernels_static")
    assert [applied.kernel.name for applied in session.plans] == ["main", "main#1"]
    assert [applied.plan.arena_bytes for applied in session.plans] == [1_024, 1_024]


def test_no_more_bytes_than_the_compiler_s_own_merge() -> None:
    """Objective `speed`, the default: TVM's own takes 4,096 bytes, and ours, with a barrier."""
    session, _ = merged("same_index", objective="speed")
    (applied,) = session.plans
    assert stock_bytes("same_index") == [4_096]
    assert (applied.plan.arena_bytes, applied.barriers) == (4_096, 1)
    session, _ = merged("batched_gemm", objective="speed", config="wide")
    (applied,) = session.plans
    assert applied.plan.arena_bytes < 232_448 < applied.plan.total_bytes


def test_the_pipeline_by_name() -> None:
    import smemreuse.tvm
    from fixtures.tvm.lowering import compile_module, cuda_source

    fixture = FIXTURES["batched_gemm"]
    mod = fixture.make(**fixture.configs["wide"])
    named = cuda_source(compile_module(mod, fixture.pass_configs, smemreuse.tvm.PIPELINE))
    assert named == merged("batched_gemm", objective="speed", config="wide")[1]
    assert named != cuda_source(compile_module(mod, fixture.pass_configs))


def test_the_pass_in_a_pipeline_of_ones_own() -> None:
    import smemreuse.tvm
    from fixtures.tvm.lowering import capture, shared_bytes

    fixture = FIXTURES["batched_gemm"]
    before, _ = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
    after = smemreuse.tvm.MergeSharedMemoryAllocations(policy="dataflow", objective="bytes")(before)
    assert shared_bytes(after, "shared.dyn") == [16_384]


def test_the_stock_pass_is_back_behind_the_with() -> None:
    from fixtures.tvm.lowering import compile_module, cuda_source

    fixture = FIXTURES["batched_gemm"]
    mod = fixture.make(**fixture.configs["small"])
    before = cuda_source(compile_module(mod, fixture.pass_configs))
    merged("batched_gemm")
    assert cuda_source(compile_module(mod, fixture.pass_configs)) == before


def test_a_plan_without_proof_is_not_applied() -> None:
    """`inner` frees a table in the loop that reads it; the next more cautious is taken."""
    import smemreuse.tvm

    mod = carried_module()
    with smemreuse.tvm.merge("inner", objective="bytes") as session:
        _compile(mod)
    (applied,) = session.plans
    (plan, verdict), *_ = applied.rejected
    assert (plan.policy, verdict.verdict) == ("inner", "unsound")
    assert applied.verdict.sound
    with smemreuse.tvm.merge("inner", objective="bytes", unchecked=True) as session:
        _compile(mod)
    assert session.plans[0].verdict.verdict == "unsound"


def test_volatile_buffers_are_left_to_the_stock_pass() -> None:
    """A view does not carry `volatile` on; TVM's own pass makes each access volatile."""
    import smemreuse.tvm
    from fixtures.tvm.lowering import cuda_source

    mod = carried_module(annotations={"tirx.volatile": True})
    with smemreuse.tvm.merge() as session:
        source = cuda_source(_compile(mod))
    assert session.plans == []
    assert [left.reason for left in session.left] == ["it has volatile buffers"]
    assert [(one.outcome.name, one.reason) for one in session.functions] == [
        ("LEFT", "it has volatile buffers")
    ]
    assert source == cuda_source(_compile(mod))
    assert "volatile float*" in source


def test_a_fault_of_ours_leaves_the_function_to_the_stock_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import smemreuse.tvm
    from fixtures.tvm.lowering import cuda_source

    def fail(*_: object, **_options: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("smemreuse.compilers.session.Attempts", fail)
    with (
        pytest.warns(RuntimeWarning, match="leaves main to the compiler's own merge: Recursion"),
        smemreuse.tvm.merge() as session,
    ):
        source = cuda_source(_compile(carried_module()))
    assert [left.function for left in session.left] == ["main"]
    assert [str(one) for one in session.functions] == [
        "main: left to the compiler's own merge (RecursionError: too deep)"
    ]
    assert source == cuda_source(_compile(carried_module()))


@pytest.mark.parametrize("elements", [0, 64])
def test_views_larger_than_what_they_show_are_left_to_the_stock_pass(elements: int) -> None:
    """An `SMEMPool` allocates nothing: it lies behind everything there, and its views follow."""
    import smemreuse.tvm
    from fixtures.tvm.lowering import cuda_source

    mod = pool_module(elements)
    with pytest.warns(RuntimeWarning, match="pool"), smemreuse.tvm.merge() as session:
        source = cuda_source(_compile(mod))
    assert session.plans == []
    assert [left.function for left in session.left] == ["main"]
    assert source == cuda_source(_compile(mod))


@pytest.mark.parametrize("is_power", [False, True])
def test_a_symbolic_size_shares_nothing(is_power: bool) -> None:
    import smemreuse.tvm
    from fixtures.tvm.lowering import cuda_source

    with smemreuse.tvm.merge() as session:
        source = cuda_source(_compile(symbolic_module(is_power)))
    (applied,) = session.plans
    assert len(applied.plan.symbolic_offsets) == 1
    assert applied.verdict.sound
    assert "float* S = " in source


def test_buffers_and_arena_are_aligned_as_tvm_does() -> None:
    import smemreuse.tvm
    from fixtures.tvm.lowering import cuda_source

    with smemreuse.tvm.merge(objective="none") as session:
        source = cuda_source(_compile(carried_module(elements=4)))
    (applied,) = session.plans
    assert sorted(applied.plan.offsets.values()) == [0, 64]
    assert "extern __shared__ __align__(64) uchar buf_dyn_shmem_ptr[]" in source


def test_unknown_policy_is_named() -> None:
    import smemreuse.tvm

    with pytest.raises(PlanError, match="unknown policy 'tight'; choose one of outer"):
        smemreuse.tvm.MergeSharedMemoryAllocations("tight")


def _compile(mod: Any) -> Any:
    from fixtures.tvm.lowering import compile_module

    return compile_module(mod, {"tirx.disable_storage_rewrite": True})


def carried_module(annotations: dict[str, bool] | None = None, elements: int = 128) -> Any:
    """A table filled before the loop that reads it in every iteration, and scratch in the loop."""
    import tvm
    from tvm.script import tirx as T

    annotations = annotations or {}

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        tx = T.launch_thread("threadIdx.x", elements)
        table = T.alloc_buffer((elements,), "float32", scope="shared.dyn", annotations=annotations)
        scratch = T.alloc_buffer((elements,), "float32", scope="shared.dyn")
        table[tx] = A[tx]
        for k in range(4):
            B[tx] = B[tx] + table[(k + tx) % elements]
            scratch[tx] = B[tx]
            B[tx] = scratch[elements - 1 - tx]

    return tvm.IRModule({"main": main})


def pool_module(elements: int) -> Any:
    """X is a view of a pool that has fewer bytes, and lives together with Y."""
    import tvm
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        tx = T.launch_thread("threadIdx.x", 128)
        pool = T.alloc_buffer((elements,), "uint8", scope="shared.dyn")
        X = T.decl_buffer((128,), "float32", data=pool.data, scope="shared.dyn")
        Y = T.alloc_buffer((128,), "float32", scope="shared.dyn")
        X[tx] = A[tx]
        Y[tx] = A[127 - tx]
        B[tx] = X[127 - tx] + Y[127 - tx]

    return tvm.IRModule({"main": main})


def symbolic_module(is_power: bool) -> Any:
    """A buffer of n elements, or of 2^n."""
    import tvm
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(a: T.handle, B: T.Buffer((128,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        tx = T.launch_thread("threadIdx.x", 128)
        X = T.alloc_buffer((128,), "float32", scope="shared.dyn")
        S = T.alloc_buffer((T.shift_left(1, n) if is_power else n,), scope="shared.dyn")
        X[tx] = A[tx]
        B[tx] = X[127 - tx]
        S[tx] = B[tx]
        B[tx] = S[127 - tx]

    return tvm.IRModule({"main": main})


def small_module(scope: str, buffers: int, threads: int = 32) -> Any:
    """One function whose buffers are all written, then all read."""
    import tvm
    from tvm.script import tirx as T

    lines = [
        "@T.prim_func(s_tir=True)",
        f'def main(O: T.Buffer(({threads},), "float32")):',
        f'    tx = T.launch_thread("threadIdx.x", {threads})' if buffers else "    tx = 0",
    ]
    names = [f"S{number}" for number in range(buffers)]
    lines += [f'    {name} = T.alloc_buffer(({threads},), scope="{scope}")' for name in names]
    lines += [f"    {name}[tx] = T.float32({at})" for at, name in enumerate(names)]
    total = " + ".join(f"{name}[{threads - 1} - tx]" for name in names) or "T.float32(0)"
    lines += ['    T.tvm_storage_sync("shared")'] if buffers else []
    lines += [f"    O[tx] = {total}"]
    return tvm.IRModule({"main": tvm.script.from_source("\n".join(lines) + "\n", {"T": T})})


@pytest.mark.parametrize(
    ("scope", "buffers", "outcome"),
    [
        ("shared.dyn", 2, "MERGED"),
        ("shared", 2, "NOTHING_TO_GAIN"),
        ("shared", 1, "NOTHING_TO_MERGE"),
        ("shared", 0, "NO_KERNEL"),
    ],
)
def test_a_session_says_what_became_of_each_function(
    scope: str, buffers: int, outcome: str
) -> None:
    """Dynamic buffers are merged in any case; static ones that share nothing stay as they are."""
    import smemreuse.tvm

    mod = small_module(scope, buffers)
    session = smemreuse.tvm.Session()
    session.lowering_pass()(mod)
    assert [(one.function, one.outcome.name) for one in session.functions] == [("main", outcome)]
    assert len(session.kernels) == int(buffers > 0)
    assert len(session.plans) == int(outcome == "MERGED")


def test_parameters_do_not_overlap_for_the_compiler_whatever_the_function_says() -> None:
    """So plans, `trim` and levers take them for separate memory without `tir.noalias`, too."""
    import tvm

    from fixtures.tvm.lowering import compile_module, cuda_source

    fixture = FIXTURES["batched_gemm"]
    made = fixture.make(**fixture.configs["small"])
    mod = tvm.IRModule(
        {var: func.with_attr("tirx.noalias", False) for var, func in made.functions.items()}
    )
    source = cuda_source(compile_module(mod, fixture.pass_configs))
    kernel = next(line for line in source.splitlines() if "__global__" in line)
    assert kernel.count("* __restrict__ ") == kernel.count("_ptr") == 3
