"""`import smemreuse`: few names, typed, that cost nothing until they are used."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import smemreuse
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of, launched
from tests.conftest import DUMPS, ROOT

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
HEAVY = ("plotly", "networkx", "graphviz", "rich", "ortools", "numpy", "click")


def loaded_by(statement: str) -> list[str]:
    """Which of the heavy packages, and of our own modules, an interpreter has loaded behind it."""
    tell = (
        f"{statement}\nimport json, sys\n"
        f"print(json.dumps([one for one in sys.modules if one in {HEAVY} "
        "or one.startswith('smemreuse.')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", tell], capture_output=True, text=True, check=True, cwd=ROOT
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_importing_loads_nothing() -> None:
    assert loaded_by("import smemreuse") == ["smemreuse._version", "smemreuse.errors"]


def test_names_load_what_they_need() -> None:
    assert not {*HEAVY} & {*loaded_by("from smemreuse import Kernel, Plan, Verdict, Rule")}
    assert not {*HEAVY} - {"numpy", "networkx"} & {*loaded_by("import smemreuse; smemreuse.read")}


def test_what_is_offered() -> None:
    """Modules of the same name must not get in the way, whatever is imported when."""
    for name in ("read", "plan", "check", "explain"):
        function = getattr(smemreuse, name)
        assert callable(function)
        assert function.__doc__
        assert "return" in function.__annotations__
    for name in smemreuse.__all__:
        assert getattr(smemreuse, name) is not None
        assert name in dir(smemreuse)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = smemreuse.nothing  # type: ignore[attr-defined]


def test_no_module_has_the_name_of_a_function() -> None:
    """The import system would put the module in the function's place."""
    modules = {each.name for each in pkgutil.iter_modules(smemreuse.__path__)}
    assert {"checker", "planner", "explainer"} <= modules
    assert not modules & {*smemreuse.__all__}


def test_from_a_dump_to_a_proof() -> None:
    (kernel,) = smemreuse.read(BATCHED)
    assert isinstance(kernel, smemreuse.Kernel)
    plan = smemreuse.plan(kernel, objective="bytes")
    assert (plan.arena_bytes, plan.lower_bound_bytes) == (32_768, 32_768)
    assert smemreuse.check(kernel, plan).sound
    assert smemreuse.plan(kernel, objective="none").arena_bytes == 65_536
    found = smemreuse.explain(kernel, "As", "Cs")
    assert found.may_share
    assert not smemreuse.explain(kernel, "As", "Bs").may_share


def test_an_unsound_plan_names_the_rule() -> None:
    (kernel,) = smemreuse.read(str(DUMPS / "while_table.sm_80.tir"))
    verdict = smemreuse.check(kernel, smemreuse.plan(kernel, policy="inner"))
    assert not verdict.sound
    assert {violation.rule for violation in verdict.violations} == {smemreuse.Rule.LOOP_CARRIED}


def test_an_architecture_goes_by_its_name() -> None:
    (kernel,) = smemreuse.read(BATCHED)
    plans = [smemreuse.plan(kernel, objective="occupancy", arch=one) for one in ("sm_75", "sm_80")]
    assert [plan.arena_bytes for plan in plans] == [32_768, 65_536]
    assert smemreuse.plan(kernel, arch="sm_80").arena_bytes == 65_536  # as every verb and pass
    with pytest.raises(smemreuse.PlanError, match="unknown architecture 'sm_1'"):
        smemreuse.plan(kernel, objective="occupancy", arch="sm_1")


def test_each_is_shown_on_one_line() -> None:
    (kernel,) = smemreuse.read(BATCHED)
    plan = smemreuse.plan(kernel, objective="bytes")
    assert repr(kernel) == "Kernel(batched_gemm_kernel: 3 in shared.dyn)"
    assert repr(plan) == "Plan(shared.dyn: dataflow, best, bytes; 3 buffers in 32,768 bytes)"
    assert repr(smemreuse.check(kernel, plan)) == "Verdict(sound)"
    pairs = [repr(smemreuse.explain(kernel, one, two)) for one, two in (("As", "Cs"), ("As", "Bs"))]
    assert pairs == [
        "Explanation(As and Cs may share)",
        "Explanation(As and Bs must not share, live together)",
    ]
    assert repr(smemreuse.Kernel("k", ())) == "Kernel(k: no shared buffers)"


def test_errors_say_what_is_wrong(tmp_path: Path) -> None:
    (kernel,) = smemreuse.read(BATCHED)
    with pytest.raises(smemreuse.InputError, match=r"nowhere\.tir: cannot be read"):
        smemreuse.read(tmp_path / "nowhere.tir")
    with pytest.raises(smemreuse.PlanError, match="unknown policy 'none'; choose one of"):
        smemreuse.plan(kernel, policy="none")
    with pytest.raises(smemreuse.InputError, match="no buffer Zs; the shared buffers are As"):
        smemreuse.explain(kernel, "As", "Zs")
    with pytest.raises(smemreuse.InputError, match="give two buffers"):
        smemreuse.explain(kernel, "As", "As")
    other = kernel_of(launched("As[0] = Bs[0]\n"))
    with pytest.raises(smemreuse.PlanError, match="not one of main"):
        smemreuse.check(other, smemreuse.plan(kernel))


def test_two_scopes_are_told_apart() -> None:
    static = 'S = T.alloc_buffer((8,), scope="shared")\n'
    kernel = kernel_of(dump(LAUNCH + BUFFERS + static + "As[0] = S[0]\nBs[0] = S[0]\n"))
    with pytest.raises(smemreuse.PlanError, match=r"shared and shared\.dyn; give one of them"):
        smemreuse.plan(kernel)
    assert smemreuse.plan(kernel, "shared").arena_bytes == 32
    with pytest.raises(smemreuse.InputError, match=r"As is in scope shared\.dyn and S in shared"):
        smemreuse.explain(kernel, "As", "S")
    none = kernel_of(dump(LAUNCH + 'm = T.alloc_buffer((2,), "uint64", scope="shared.barrier")\n'))
    assert smemreuse.plan(none).arena_bytes == 0
    with pytest.raises(smemreuse.InputError, match="it has no shared buffers"):
        smemreuse.explain(none, "As", "Bs")
