"""`graph`: DOT text everywhere, pictures where Graphviz is installed."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from smemreuse.commands.graph import KINDS, picture_of
from smemreuse.commands.subjects import read_subjects
from smemreuse.report.data import Subject
from smemreuse.report.graphs import draw, render
from tests.commands.running import assert_one_line_error, run
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of
from tests.conftest import DUMPS, needs_dot

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
TWO_KERNELS = DUMPS / "two_kernels.sm_80.tir"


def subject(path: Path) -> Subject:
    return read_subjects([str(path)])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kernel_has_every_graph(kind: str, sample_path: Path) -> None:
    result = run("graph", sample_path, "--kind", kind, "--format", "dot")
    assert result.exit_code == 0
    assert result.stdout.startswith("digraph smemreuse {")


def test_the_name_of_the_output_says_the_format(tmp_path: Path) -> None:
    assert run("graph", BATCHED, "-o", tmp_path / "k.dot").exit_code == 0
    assert (tmp_path / "k.dot").read_text().startswith("digraph smemreuse {")
    assert run("graph", BATCHED, "--format", "dot", "-o", tmp_path / "k.svg").exit_code == 0
    assert (tmp_path / "k.svg").read_text().startswith("digraph smemreuse {")


@pytest.mark.parametrize("policy", ["outer", "inner", "dataflow"])
def test_lifetimes_mark_gen_kill_loops_and_waits(policy: str) -> None:
    text = run("graph", BATCHED, "--format", "dot", "--policy", policy).stdout
    assert text.count("gen") == text.count("kill") == 3
    assert text.count("wait: ptx_wait_group") == 2
    assert text.count("ROWSPAN") == 19, "one for each loop"


@pytest.mark.parametrize(
    ("name", "pair", "words", "style"),
    [
        ("divergent_arms.sm_80", ("left", "right"), "rule 4: concurrent branches", "solid"),
        ("scratch_before_carried.sm_80", ("scratch", "carried"), "rule 2: loop-carried", "solid"),
        ("cp_async_past_loop.sm_80", ("stage", "scratch"), "rule 5: in flight", "solid"),
        ("data_dependent_refill.sm_80", ("table", "scratch"), "rule 2: loop-carried", "dashed"),
    ],
)
def test_the_rule_that_forbids_it(name: str, pair: tuple[str, str], words: str, style: str) -> None:
    text = run("graph", DUMPS / f"{name}.tir", "--kind", "interference", "--format", "dot").stdout
    nodes = dict(re.findall(r'(k0_\d+) \[label="(\w+)', text))
    (edge,) = (
        line
        for line in text.splitlines()
        if "--" in line or "->" in line
        if {nodes[one] for one in re.findall(r"k0_\d+", line)} == {*pair}
    )
    assert words in edge
    assert f"style={style}" in edge


def test_one_kernel_of_several() -> None:
    both = run("graph", TWO_KERNELS, "--format", "dot").stdout
    assert both.count("subgraph cluster_") == 2
    name = subject(TWO_KERNELS).kernel.name
    one = run("graph", TWO_KERNELS, "--format", "dot", "--kernel", name).stdout
    assert one.count("subgraph cluster_") == 1
    missing = run("graph", TWO_KERNELS, "--format", "dot", "--kernel", "nobody")
    assert_one_line_error(missing.exit_code, missing.stdout, missing.stderr)
    assert f"there is no kernel nobody; those in the file: {name}" in missing.stderr


def test_no_kernel_with_shared_buffers(tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    path.write_text(dump(LAUNCH + "T.evaluate(0)\n"))
    for options, words in (
        ((), "no kernel has shared buffers\n"),
        (("--kernel", "main"), "kernel main has no shared buffers\n"),
        (("--kernel", "nobody"), "there is no kernel nobody; those in the file: main\n"),
    ):
        result = run("graph", path, "--format", "dot", *options)
        assert_one_line_error(result.exit_code, result.stdout, result.stderr)
        assert result.stderr.endswith(f": {words}")


@pytest.mark.parametrize("kind", KINDS)
@needs_dot
def test_names_that_mean_something_to_graphviz(kind: str) -> None:
    """A colon is a port, a bracket is a tag, and a backslash is an escape."""
    text = dump(LAUNCH + BUFFERS + "for i in range(4):\n    As[i] = Bs[i]\n")
    kernel = kernel_of(text)
    for number, allocation in enumerate(kernel.allocations()):
        object.__setattr__(allocation, "name", f'a:<b>"\\N{number}')
    picture = picture_of(kind, Subject("k.tir", kernel, "shared.dyn"), "dataflow")
    graph = draw(kind, [picture], "dataflow")
    root = ElementTree.fromstring(render(graph, "svg", kind, "dataflow"))
    assert any('a:<b>"\\N0' in "".join(node.itertext()) for node in root.iter())


@needs_dot
@pytest.mark.parametrize("kind", KINDS)
def test_pictures(kind: str, tmp_path: Path) -> None:
    svg, png, page = (tmp_path / f"out.{each}" for each in ("svg", "png", "html"))
    for path in (svg, png, page):
        result = run("graph", BATCHED, "--kind", kind, "--format", path.suffix[1:], "-o", path)
        assert result.exit_code == 0
    assert ElementTree.fromstring(svg.read_bytes()).tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert page.read_text().count("<svg") == 1
    again = run("graph", BATCHED, "--kind", kind, "--format", "svg", "-o", svg)
    assert (again.exit_code, "--force" in again.stderr) == (2, True)


def test_without_dot_the_text_works_and_pictures_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run("graph", BATCHED, "--format", "dot").exit_code == 0
    for picture in ("svg", "png", "html"):
        result = run("graph", BATCHED, "--format", picture, "-o", tmp_path / "out")
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert "apt-get install graphviz" in result.stderr
        assert not (tmp_path / "out").exists()


def test_a_statement_cut_short_still_names_its_buffers() -> None:
    text = run("graph", BATCHED, "--format", "dot").stdout
    copies = [*re.findall(r"(?:ptx_ldmatrix|ptx_cp_async)\([^<]*", text)]
    assert len(copies) == 8
    assert all("..." in copy and re.search("[AB]s", copy) for copy in copies)
