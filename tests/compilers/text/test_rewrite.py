"""`merge_text`: only allocation lines change, and what comes out can be read back."""

from __future__ import annotations

from textwrap import indent

import pytest

from smemreuse.audit import applied_layout
from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.errors import PlanError
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import Verdict
from smemreuse.versions import APACHE_TVM
from tests.compilers.text.test_round_trip import outer, shared_touches
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of, launched
from tests.conftest import DUMPS


def merge(source: str) -> str:
    """The merged text, after checking that it can be read and has one arena for each scope."""
    before = parse_dump(source)
    merged = merge_text(before, outer).source
    after = parse_dump(merged)
    assert [kernel.name for kernel in after.kernels] == [kernel.name for kernel in before.kernels]
    for was, now in zip(before.kernels, after.kernels, strict=True):
        assert now.shared_scopes() == was.shared_scopes()
        for scope in was.shared_scopes():
            assert len(now.allocations(scope)) == 1
            assert shared_touches(now, scope) == shared_touches(was, scope)
    return merged


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that only one of two texts has, without indentation."""
    old, new = before.splitlines(), after.splitlines()
    return (
        [line.strip() for line in old if line not in new],
        [line.strip() for line in new if line not in old],
    )


def test_an_allocation_becomes_a_pointer_and_a_view() -> None:
    source = launched("As[0] = Bs[0]\n")
    assert changed(source, merge(source)) == (
        [
            'As = T.alloc_buffer((64,), scope="shared.dyn")',
            'Bs = T.alloc_buffer((64,), scope="shared.dyn")',
        ],
        [
            'buf_dyn_shmem = T.alloc_buffer((512,), "uint8", scope="shared.dyn")',
            'As_ptr: T.handle("float32", "shared.dyn") = '
            "T.handle_add_byte_offset(buf_dyn_shmem.data, 0)",
            'As = T.decl_buffer((64,), data=As_ptr, scope="shared.dyn")',
            'Bs_ptr: T.handle("float32", "shared.dyn") = '
            "T.handle_add_byte_offset(buf_dyn_shmem.data, 256)",
            'Bs = T.decl_buffer((64,), data=Bs_ptr, scope="shared.dyn")',
        ],
    )


def test_every_dump_of_the_repository() -> None:
    for path in sorted(DUMPS.glob("*.tir")):
        source = path.read_text()
        gone, _ = changed(source, merge(source))
        assert gone
        assert all("T.alloc_buffer(" in line and 'scope="shared.dyn"' in line for line in gone)


def test_a_summary_line_for_each_arena() -> None:
    merged = merge_text(parse_dump(launched("As[0] = Bs[0]\n")), outer)
    nothing = "take 512 bytes as before; no two of them share bytes"
    assert merged.summary == (f"main: 2 shared.dyn buffers {nothing}",)


@pytest.mark.parametrize(
    "body", ["", LAUNCH, LAUNCH + 'X = T.alloc_buffer((4,), scope="shared.dyn")\nX[0] = 1\n']
)
def test_nothing_to_merge_changes_nothing(body: str) -> None:
    source = dump(body + "T.evaluate(0)\n")
    merged = merge_text(parse_dump(source), outer)
    assert (merged.source, merged.summary) == (source, ())


def test_both_kinds_of_shared_memory_get_their_own_arena() -> None:
    static = (
        'S0 = T.alloc_buffer((8,), scope="shared")\nS1 = T.alloc_buffer((8,), scope="shared")\n'
    )
    barrier = 'M0 = T.alloc_buffer((2,), "uint64", scope="shared.barrier")\n'
    merged = merge(launched(static + barrier + "As[0] = Bs[0]\nS0[0] = S1[0]\n"))
    assert 'buf_shmem = T.alloc_buffer((64,), "uint8", scope="shared")' in merged
    assert barrier.strip() in merged


def test_the_with_form_of_a_launch() -> None:
    source = dump("""\
        with T.launch_thread("blockIdx.x", 4) as bx:
            with T.launch_thread("threadIdx.x", 32) as tx:
                As = T.alloc_buffer((64,), scope="shared.dyn")
                Bs = T.alloc_buffer((64,), scope="shared.dyn")
                As[tx] = Bs[tx]
    """)
    lines = merge(source).splitlines()
    arena = next(index for index, line in enumerate(lines) if "buf_dyn_shmem = " in line)
    assert lines[arena - 1].strip() == 'with T.launch_thread("blockIdx.x", 4) as bx:'


def test_a_with_of_several_items() -> None:
    merge(
        dump("""\
            with T.launch_thread("blockIdx.x", 4) as bx, T.launch_thread("threadIdx.x", 8) as tx:
                As = T.alloc_buffer((64,), scope="shared.dyn")
                Bs = T.alloc_buffer((64,), scope="shared.dyn")
                As[tx] = Bs[tx]
        """)
    )


def test_a_with_of_several_items_that_launches_first() -> None:
    merge(
        dump("""\
            with T.launch_thread("blockIdx.x", 4) as bx, T.attr(0, "pragma", 1), T.attr(0, "b", 1):
                As = T.alloc_buffer((64,), scope="shared.dyn")
                Bs = T.alloc_buffer((64,), scope="shared.dyn")
                As[bx] = Bs[bx]
        """)
    )


def test_nested_allocations_share_the_arena_at_the_launch() -> None:
    source = dump(
        LAUNCH
        + """\
for i in range(4):
    X = T.alloc_buffer((8,), scope="shared.dyn")
    X[i] = T.float32(0.0)
    if i < 2:
        Y = T.alloc_buffer((8,), scope="shared.dyn")
        Y[i] = X[i]
"""
    )
    assert merge(source).count("T.handle_add_byte_offset(buf_dyn_shmem.data") == 2


def test_a_name_used_again_in_a_sibling_block() -> None:
    block = '    X = T.alloc_buffer((8,), scope="shared.dyn")\n    X[i] = T.float32(0.0)\n'
    source = dump(LAUNCH + f"for i in range(4):\n{block}for i in range(2):\n{block}")
    merged = merge(source)
    assert "X_ptr: " in merged
    assert "X_ptr_1: " in merged


def test_several_kernels_of_a_module() -> None:
    one = launched("As[0] = Bs[0]\n")
    two = one.replace("def main", "def other").partition("\n\n")[2].replace("64", "32")
    merged = merge(one + "\n" + two)
    assert merged.count('T.alloc_buffer((512,), "uint8"') == 1
    assert merged.count('T.alloc_buffer((256,), "uint8"') == 1


def test_two_launches_of_one_function() -> None:
    body = ""
    for _ in range(2):
        body += 'with T.launch_thread("blockIdx.x", 4) as bx:\n'
        body += "".join(f"    {line}\n" for line in [*BUFFERS.splitlines(), "As[bx] = Bs[bx]"])
    merged = merge(dump(body))
    assert merged.count('"uint8", scope="shared.dyn"') == 2


@pytest.mark.parametrize("name", ["buf_dyn_shmem", "As_ptr", "Bs_ptr", "As_ptr_1"])
def test_a_name_that_is_taken_is_left_to_its_owner(name: str) -> None:
    merged = merge(launched(f"{name} = n * 2\nAs[{name}] = Bs[0]\n"))
    assert merged.count(f"{name} = n * 2") == 1
    assert f"{name}: T.handle" not in merged or name == "As_ptr_1"


def test_an_allocation_over_several_lines() -> None:
    source = launched("""\
        Ws = T.alloc_buffer(
            (64,),
            "float16",
            scope="shared.dyn",
        )  # of the epilogue
        As[0] = Bs[0]
        Ws[0] = T.float16(0.0)
    """)
    merged = merge(source)
    assert 'Ws = T.decl_buffer((64,), "float16", data=Ws_ptr, scope="shared.dyn")' in merged
    assert "        (64,),\n" not in merged


def test_an_allocation_behind_a_backslash() -> None:
    merge(launched('Ws = \\\n  T.alloc_buffer((64,), scope="shared.dyn")\nWs[0] = As[0] + Bs[0]\n'))


def test_a_launch_over_several_lines() -> None:
    launch = 'bx = T.launch_thread(\n    "blockIdx.x",\n    4,\n)\n'
    merged = merge(dump(launch + BUFFERS + "As[bx] = Bs[bx]\n"))
    assert ")\n    buf_dyn_shmem = " in merged


def test_a_launch_in_an_elif() -> None:
    body = "if n < 1:\n    pass\nelif n < 2:\n" + indent(
        LAUNCH + BUFFERS + "As[bx] = Bs[bx]\n", "    "
    )
    assert "        buf_dyn_shmem = " in merge(dump(body))


def test_allocations_in_two_arms_of_a_chain_of_branches() -> None:
    """There is no place before an `elif`; the arena goes before the whole chain."""
    allocations = [indent(f"{line}\n", "    ") for line in BUFFERS.splitlines()]
    body = f"if n < 1:\n    pass\nelif n < 2:\n{allocations[0]}else:\n{allocations[1]}"
    merged = merge(dump(body))
    assert merged.index("buf_dyn_shmem = ") < merged.index("if n < 1")


def test_two_launches_on_one_line() -> None:
    launches = LAUNCH.strip() + '; tx = T.launch_thread("threadIdx.x", 32)\n'
    merge(dump(launches + BUFFERS + "As[tx] = Bs[bx]\n"))


def test_tabs_and_lone_carriage_returns() -> None:
    body = indent(BUFFERS + "As[0] = Bs[0]\n", "\t")
    merge(dump(LAUNCH + "if bx < 4:\n" + body).replace("\n", "\r"))


def test_a_declaration_that_allocates() -> None:
    """`T.decl_buffer` without `data` is an allocation."""
    body = (
        'X = T.decl_buffer((64,), "int8", None, None, None, "shared.dyn")\nX[0] = As[0] + Bs[0]\n'
    )
    assert 'X = T.decl_buffer((64,), "int8", data=X_ptr, scope="shared.dyn")' in merge(
        launched(body)
    )


def test_an_allocation_outside_of_the_only_launch_that_uses_it() -> None:
    launch = 'with T.launch_thread("blockIdx.x", 4) as bx:\n'
    one = launch + '    Cs = T.alloc_buffer((64,), scope="shared.dyn")\n    Cs[bx] = As[bx]\n'
    merged = merge(
        dump(BUFFERS.splitlines(keepends=True)[0] + launch + "    T.evaluate(bx)\n" + one)
    )
    assert merged.index("buf_dyn_shmem = ") < merged.index("T.launch_thread")


def test_a_comment_between_stays() -> None:
    merged = merge(dump(LAUNCH + "# the stages\n" + BUFFERS + "As[bx] = Bs[bx]  # fill\n"))
    assert "    # the stages\n" in merged
    assert "As[bx] = Bs[bx]  # fill\n" in merged


def test_annotations_of_the_allocation_are_not_carried_to_the_view() -> None:
    source = launched(
        'W = T.alloc_buffer((8,), scope="shared.dyn", annotations={"a": 1})\nW[0] = As[0] + Bs[0]\n'
    )
    assert "annotations" not in merge(source)


def test_a_volatile_buffer_stays_an_allocation_of_its_own() -> None:
    """No view says that each access must be made, which warps without barriers count on."""
    source = launched("As[0] = Bs[0]\n")
    marked = source.replace('dyn")\n    Bs', 'dyn", annotations={"tirx.volatile": True})\n    Bs')
    assert marked != source
    with pytest.raises(PlanError, match="line 6: As is volatile"):
        merge_text(parse_dump(marked), outer)


def test_a_file_without_a_newline_at_its_end() -> None:
    merged = merge(launched("As[0] = Bs[0]\n").rstrip("\n"))
    assert merged.endswith("As[0] = Bs[0]")


def test_a_file_with_carriage_returns_keeps_them() -> None:
    merged = merge(launched("As[0] = Bs[0]\n").replace("\n", "\r\n"))
    assert merged.count("\n") == merged.count("\r\n")


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_what_only_str_splitlines_takes_for_a_line_end(odd: str) -> None:
    """Python's tokenizer ends lines at \\n, \\r\\n and \\r only."""
    source = dump(f"# left{odd}right\n" + LAUNCH + BUFFERS + "As[0] = Bs[0]\n")
    comment = source.split("\n")[4]
    assert odd in comment
    assert f"{comment}\n" in merge(source)


def test_letters_of_more_than_one_byte() -> None:
    source = launched('Größe = T.alloc_buffer((8,), scope="shared.dyn")  # für später\n')
    merged = merge(source + "    Größe[0] = As[0] + Bs[0]\n")
    assert "Größe_ptr: T.handle" in merged


def test_names_that_python_takes_for_one_are_one() -> None:
    """A wide `b`: the buffer is no arena for what is allocated after it."""
    source = launched("As[0] = Bs[0]\n").replace("As", "\uff42uf_dyn_shmem")
    assert 'buf_dyn_shmem_1 = T.alloc_buffer((512,), "uint8"' in merge(source)


def test_the_prefix_of_the_file_is_used() -> None:
    source = launched("As[0] = Bs[0]\n").replace("T.", "X.").replace("as T", "as X")
    assert "T." not in merge(source)


def test_a_scope_given_by_position() -> None:
    source = launched("As[0] = Bs[0]\n").replace(
        '(64,), scope="shared', '(64,), "float32", "shared'
    )
    merged = merge(source)
    assert 'As = T.decl_buffer((64,), "float32", "shared.dyn", data' not in merged, (
        "the third argument of T.decl_buffer is `data`"
    )


def test_a_symbolic_size_is_laid_behind_the_constant_part() -> None:
    body = 'Ss = T.alloc_buffer((n,), "float16", scope="shared.dyn")\nSs[0] = T.float16(0.0)\n'
    merged = merge(launched(body + "As[0] = Bs[0]\n"))
    size = "(512 + n * 2 + 15) // 16 * 16"
    assert f'buf_dyn_shmem = T.alloc_buffer(({size},), "uint8", scope="shared.dyn")' in merged
    assert "T.handle_add_byte_offset(buf_dyn_shmem.data, 512)" in merged


@pytest.mark.parametrize(
    "extent", ["T.max(n, 1)", 'T.Cast("int32", n)', "T.if_then_else(n < 4, 1, 2)"]
)
def test_a_symbolic_size_is_written_as_tvmscript(extent: str) -> None:
    body = f'Ss = T.alloc_buffer(({extent},), "float16", scope="shared.dyn")\nSs[0] = As[0]\n'
    (line,) = (line for line in merge(launched(body)).splitlines() if "buf_dyn_shmem = " in line)
    assert extent.replace('"', "'") in line.replace('"', "'")


def test_a_symbolic_size_of_4_bit_elements_is_written_as_tvmscript() -> None:
    body = 'Ss = T.alloc_buffer((n,), "int4", scope="shared.dyn")\nSs[0] = As[0]\n'
    (line,) = (line for line in merge(launched(body)).splitlines() if "buf_dyn_shmem = " in line)
    assert " ceildiv(" not in line
    assert "(ceildiv(" not in line


def test_a_size_that_reads_memory_is_refused() -> None:
    body = 'Ss = T.alloc_buffer((As[0],), scope="shared.dyn")\nSs[0] = Bs[0]\n'
    with pytest.raises(PlanError, match=r"line 6: .* reads memory: `As\[0\]`"):
        merge(launched(body))


def test_a_variable_that_hides_the_one_of_the_size() -> None:
    """At the launch `n` is the parameter; the size is made of the loop's `n`."""
    loop = BUFFERS.replace("64", "n", 1) + "As[0] = Bs[0]\n"
    merged = merge(dump(LAUNCH + "for n in range(4):\n" + indent(loop, "    ")))
    assert merged.index("for n in range(4)") < merged.index("buf_dyn_shmem = ")


def test_a_variable_that_hides_the_one_of_a_place() -> None:
    """Ys lies behind Ss, whose size is made of the parameter `n`; in the loop `n` is another."""
    sizes = ("Ss", "n"), ("Ys", "m")
    first, second = (
        f'{name} = T.alloc_buffer(({size},), scope="shared.dyn")\n' for name, size in sizes
    )
    loop = indent(f"{second}Ys[0] = Ss[0]\n", "    ")
    source = dump(f"m: T.int32 = n * 2\n{LAUNCH}{first}for k in range(4):\n{loop}")
    assert "n * 4 + 15) // 16 * 16)\n        Ys = T.decl_buffer(" in merge(source)
    with pytest.raises(PlanError, match="line 9: the place of Ys is made of a size that is hidden"):
        merge_text(parse_dump(source.replace("for k in", "for n in")), outer)


def outcome(source: str) -> str:
    """`merged`, if the result could be read back, or the refusal; unreadable text is neither."""
    try:
        merge(source)
    except PlanError as error:
        return str(error)
    return "merged"


def test_a_symbolic_size_known_only_behind_the_launch() -> None:
    """The arena cannot stand before the variable that its size is made of."""
    source = dump(LAUNCH + "m: T.int32 = n * 2\n" + BUFFERS.replace("64", "m") + "As[0] = Bs[0]\n")
    assert outcome(source) == "merged" or "main" in outcome(source)


def test_allocations_before_the_launch() -> None:
    source = dump(BUFFERS + LAUNCH + "As[bx] = Bs[bx]\n")
    assert outcome(source) == "merged" or "main" in outcome(source)


def test_allocations_that_two_launches_use() -> None:
    launch = 'with T.launch_thread("blockIdx.x", 4) as bx:\n    As[bx] = Bs[bx]\n'
    source = dump(BUFFERS + launch + launch)
    assert outcome(source) == "line 5: As is used by main and main#1; allocate it in each"


def test_two_allocations_in_one_statement() -> None:
    pair = ", ".join(['T.alloc_buffer((64,), scope="shared.dyn")'] * 2)
    source = dump(LAUNCH + f"As, Bs = {pair}\nAs[bx] = Bs[bx]\n")
    assert outcome(source) == "merged" or "line 6" in outcome(source)


def test_an_allocation_that_shares_its_line_is_refused() -> None:
    source = launched("As[0] = Bs[0]\n").replace("\n    Bs = ", "; Bs = ")
    with pytest.raises(PlanError, match="line 6: the allocation shares its line"):
        merge_text(parse_dump(source), outer)


def test_a_kernel_without_a_launch_gets_its_arena_at_the_first_allocation() -> None:
    merged = merge(BUFFERS + "As[0] = Bs[0]\n")
    assert merged.startswith("buf_dyn_shmem = T.alloc_buffer(")


def test_a_kernel_without_a_launch_whose_first_allocation_is_in_a_loop() -> None:
    loop = 'for i in range(4):\n    X = T.alloc_buffer((4,), scope="shared.dyn")\n    X[0] = 0.0\n'
    merged = merge(dump(loop + BUFFERS + "As[0] = Bs[0]\n"))
    assert merged.index("buf_dyn_shmem = ") < merged.index("for i in range(4):")


def test_buffers_that_do_not_live_together_share_bytes() -> None:
    source = launched("for i in range(4):\n    As[i] = 0.0\nfor i in range(4):\n    Bs[i] = 0.0\n")
    merged = merge(source)
    (arena,) = kernel_of(merged).allocations("shared.dyn")
    assert arena.size == 256
    assert merged.count("T.handle_add_byte_offset(buf_dyn_shmem.data, 0)") == 2


TVM_PHASES = """\
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@T.prim_func
def main(A: T.Buffer((128,)), B: T.Buffer((128,))):
    with T.launch_thread("threadIdx.x", 128) as tx:
        X = T.alloc_buffer((128,), scope="shared.dyn")
        Y = T.alloc_buffer((128,), scope="shared.dyn")
        X[tx] = A[tx]
        T.tvm_storage_sync("shared.dyn")
        B[tx] = X[127 - tx]
        for k in range(2):
            Y[tx] = A[tx]
            T.tvm_storage_sync("shared.dyn")
            B[tx] = Y[127 - tx]
            T.tvm_storage_sync("shared.dyn")
"""


def test_a_dump_of_apache_tvm_gets_the_barriers_that_its_plan_needs() -> None:
    """`ThreadSync` has run before it was written, and does not run again (rule 6)."""
    dump = parse_dump(TVM_PHASES)
    merged = merge_text(dump, plan_kernel)
    assert [kernel.version for kernel in dump.kernels] == [APACHE_TVM]
    before = merged.source.splitlines()
    assert before[before.index("        for k in range(2):") - 1].strip() == (
        'T.tvm_storage_sync("shared")'
    )
    assert merged.source.count("tvm_storage_sync") == TVM_PHASES.count("tvm_storage_sync") + 1
    assert merged.summary[0].endswith(" bytes merged; 1 barrier inserted")
    inserted = '        T.tvm_storage_sync("shared")\n'
    assert audit(merged.source).sound
    assert not audit(merged.source.replace(inserted, "", 1)).sound


def test_a_barrier_that_belongs_between_statements_of_one_line_is_refused() -> None:
    """One before the line leaves the write to Y beside other threads' reads of X."""
    loop = "    for k in range(2):\n        "
    phases = [line.strip() for line in TVM_PHASES.splitlines()[-8:] if "for k" not in line]
    allocations = TVM_PHASES.partition("        X[tx]")[0]
    source = f"{allocations}    {loop}    {'; '.join(phases)}\n"
    with pytest.raises(PlanError, match="line 10: a barrier belongs before one of the statements"):
        merge_text(parse_dump(source), plan_kernel)


def audit(source: str) -> Verdict:
    """What the checker says of a merged dump, with no barriers but those that are in it."""
    (kernel,) = parse_dump(source).kernels
    layout = applied_layout(kernel, "shared.dyn")
    assert layout is not None
    align = dict.fromkeys(layout.offsets, 16)
    return check_plan(
        layout.kernel, "shared.dyn", layout.offsets, layout.arena, align, assume_barriers=False
    )
