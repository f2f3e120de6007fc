"""The file that shows a finding: what it holds, and what it makes of TileLang's CUDA."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

from smemreuse.errors import BackendError
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.cuda import with_definitions
from smemreuse.reproduce.snippet import Snippet
from smemreuse.reproduce.standalone import MOST_LINES, Standalone
from smemreuse.results.reproduction import AS_IT_IS, DELAYED, EXPECTED, MENDED
from tests.reproduce.test_cuda import DELAYED as DELAYED_CUDA
from tests.reproduce.test_cuda import ORIGINAL

VARIANTS = {
    AS_IT_IS: ORIGINAL,
    DELAYED: with_definitions(DELAYED_CUDA),
    MENDED: ORIGINAL.replace("  }\n}", "    __syncthreads();\n  }\n}"),
}
SNIPPET = Snippet("import tilelang.language as T\n\n\n@T.prim_func\ndef tile(): ...\n", "tile")
LARGE = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=30_000))


def made(
    func: str | None = "{}",
    snippet: Snippet | None = SNIPPET,
    reference: str = MENDED,
    expected: str | None = None,
) -> Standalone:
    arguments = [
        LaunchArgument("float16", (8, 8)),
        LaunchArgument("int32", (4,), values=(0, 1, 2, 3)),
    ]
    configs = {"tl.disable_warp_specialized": True}
    target = {"kind": "cuda", "arch": "sm_90a"}
    return Standalone(
        func, snippet, ORIGINAL, target, configs, arguments, VARIANTS, reference, expected
    )


def executed(text: str) -> dict[str, Any]:
    """The names of the file, whose functions import TileLang and PyTorch only when called."""
    module = ast.parse(text)
    kept = [
        one
        for one in module.body
        if not (isinstance(one, ast.Import) and one.names[0].name.startswith("tilelang"))
        and not (isinstance(one, ast.FunctionDef) and one.name == "tile")
    ]
    found: dict[str, Any] = {"__name__": "standalone"}
    exec(compile(ast.Module(kept, []), "standalone", "exec"), found)
    return found


@pytest.mark.parametrize("standalone", [made(), made(snippet=None), made(None)])
def test_it_makes_each_variant_of_the_original(standalone: Standalone) -> None:
    found = executed(standalone.text("What is wrong."))
    assert [*found["CHANGES"]] == [*VARIANTS]
    for variant, text in VARIANTS.items():
        assert found["cuda"](ORIGINAL, variant) == text


def test_it_refuses_cuda_of_another_compiler() -> None:
    found = executed(made().text("What is wrong."))
    with pytest.raises(RuntimeError, match="other CUDA"):
        found["cuda"](ORIGINAL + " ", DELAYED)


def test_python_goes_before_what_tvm_writes() -> None:
    text = made().text("What is wrong.")
    assert "def tile" in text
    assert "return tile" in text
    assert "KERNEL" not in text
    assert "b85decode" not in text
    assert "zlib" not in text
    assert "b85decode" in made(snippet=None).text("What is wrong.")


def test_python_that_is_too_long_does_not() -> None:
    long = Snippet(SNIPPET.text + "#\n" * MOST_LINES, "tile")
    text = made(snippet=long).text("What is wrong.")
    assert "KERNEL" in text
    assert text.count("\n") <= MOST_LINES


DOUBLED = """def expected(x: Any, y: Any, _n: int) -> None:
    y.copy_(2 * x)"""


def test_what_must_come_out_is_in_the_file_if_it_is_known() -> None:
    text = made(reference=EXPECTED, expected=DOUBLED).text("What is wrong.")
    assert DOUBLED in text
    assert "# expected" not in text
    assert text.count("\n") <= MOST_LINES
    without = made().text("What is wrong.")
    assert "expected" not in without
    assert "wrong.append" not in without
    ast.parse(without)


@pytest.mark.tilelang
def test_results_are_held_against_it_but_for_rounding() -> None:
    import torch

    right = executed(made(reference=EXPECTED, expected=DOUBLED).text("What is wrong."))["right"]
    x, y = torch.ones(4), torch.zeros(4)
    assert right([x, 2.01 * x, 3], [x.clone(), y.clone(), 3]) is True
    assert right([x, 2.2 * x, 3], [x.clone(), y.clone(), 3]) is False


def test_a_long_function_costs_what_the_file_says_of_itself() -> None:
    long = Snippet(SNIPPET.text + "#\n" * 30, "tile")
    text = made(None, long).text("What is wrong.")
    assert text.count("\n") <= MOST_LINES
    assert "Of each argument" not in text
    assert text.count("#\n") == 30
    assert executed(text)["cuda"](ORIGINAL, DELAYED) == VARIANTS[DELAYED]


def test_names_that_the_file_has_itself_do_not_mix() -> None:
    text = made(snippet=Snippet("def cuda(): ...", "cuda")).text("What is wrong.")
    assert text.count("def cuda(") == 1


def test_a_large_function_fits_as_well() -> None:
    text = made(LARGE, None).text("What is wrong.")
    assert text.count("\n") <= MOST_LINES
    assert executed(text)["KERNEL"].count("\n") <= 14


@pytest.mark.tilelang
def test_bits_tell_any_change_and_arguments_are_the_same_for_a_seed() -> None:
    import torch

    found = executed(made().text("What is wrong."))

    def arguments(seed: int) -> list[Any]:
        random = torch.Generator("cpu").manual_seed(seed)
        options = {"generator": random, "device": "cpu"}
        rows = [*found["ARGUMENTS"], ("int8", [9], 3, 5, None), ("int", None, None, None, [7])]
        return [found["argument"](*row, **options) for row in rows]

    one, again, other = arguments(1), arguments(1), arguments(2)
    assert found["bits"](one) == found["bits"](again) != found["bits"](other)
    assert one[0].dtype is torch.float16
    assert one[1].tolist() == [0, 1, 2, 3]
    assert (one[2].dtype, int(one[2].min()) >= 3, int(one[2].max()) <= 5) == (
        torch.int8,
        True,
        True,
    )
    assert one[3] == 7
    again[0][3, 4], again[0][4, 3] = again[0][4, 3].clone(), again[0][3, 4].clone()
    assert found["bits"](one) != found["bits"](again)


def test_arguments_and_options_are_as_they_were() -> None:
    found = executed(made().text("What is wrong."))
    assert found["ARGUMENTS"] == [
        ("float16", [8, 8], None, None, None),
        ("int32", [4], None, None, [0, 1, 2, 3]),
    ]
    assert found["TARGET"] == {"kind": "cuda", "arch": "sm_90a"}
    assert found["PASS_CONFIGS"] == {"tl.disable_warp_specialized": True}
    assert found["REFERENCE"] == MENDED
    assert found["__doc__"].strip() == "What is wrong."


def test_a_file_that_cannot_be_is_refused_with_the_name() -> None:
    clashing = Snippet("SEED = 1\ndef cuda(): ...", "cuda")
    with pytest.raises(BackendError, match="which has SEED, cuda itself"):
        made(None, clashing).text("What is wrong.")
