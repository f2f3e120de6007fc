"""What the differential test asks of a kernel as a dump, before TileLang puts its barriers in.

`lint` reads the kernel as it is before the passes that insert proxy fences and barriers, and
foresees these; the model runs what TileLang's own passes make of it.
"""

from __future__ import annotations

import re
from collections import Counter
from textwrap import indent

from scripts.tilelang_passes import behind, device_function
from smemreuse.audit import BarrierStage
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from tests.random_kernels.choices import Pick
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.incomplete import without_some
from tests.random_kernels.shapes import ROWS, on_rows, partly_static
from tests.soundness.as_it_stands import ASYNC_PROXY, inputs_from, some_modes
from tests.soundness.linted import TRIED, goes_wrong, judge_report
from tests.soundness.model.modes import as_it_stands
from tests.soundness.model.run import Model

_MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def main(X: T.handle("int32", "global"), Y: T.handle("int32", "global"), rows: T.int32):
        T.func_attr({"target": T.target({"arch": "sm_90a", "keys": ["cuda", "gpu"],
            "kind": "cuda", "max_num_threads": 1024, "tag": "", "thread_warp_size": 32}),
            "tirx.is_global_func": True, "tirx.noalias": True})
"""
_OTHER_AXES = "".join(f'\nt{one} = T.launch_thread("threadIdx.{one}", 1)' for one in "yz")
"""`ThreadSync` wants to know all three."""

APACHE = "T.ptx.mbarrier("
"""An operation that TileLang has not."""


class Refused(Exception):
    """TileLang itself does not compile the kernel."""


def both(text: str) -> tuple[Kernel, Kernel]:
    """A random kernel as a dump, and as TileLang's passes complete it. Raises `Refused`."""
    function = device_function(_source(text))
    (kernel,) = function.kernels
    try:
        return kernel, behind(function)
    except Exception as error:  # TVM's own error, of whatever type
        if "[ThreadSync] Cannot lower" in str(error):
            raise Refused from error
        raise


def _source(text: str) -> str:
    """A module of the kernel, as TVM's parser takes it."""
    text = re.sub(rf"(?m)^(?:[XY] = T\.handle.*|{ROWS} = .*)\n", "", text)
    text = re.sub(r"(?m)^(tx = .*)$", rf"\1{_OTHER_AXES}", text)
    return _MODULE + indent(text.replace('"local.var"', '"local"'), " " * 8)


def examine_before(
    family: str, pick: Pick, seed: int, stats: Counter[str], *, tried: int = TRIED
) -> None:
    """Grows a kernel of a family, takes barriers out, and examines it as a dump: at times with
    static shared memory, or on a grid that rows decide. Raises `Missed` and `NotShown`."""
    text = without_some(FAMILIES[family](pick), pick)
    text = on_rows(partly_static(text, pick), pick)
    examine_dump(family, text, seed, stats, tried=tried)


def examine_dump(
    family: str, text: str, seed: int, stats: Counter[str], *, tried: int = TRIED
) -> None:
    """Holds `lint` of a dump against what the model sees of the kernel behind the passes.

    Raises `Missed` where `lint` calls it clean and it goes wrong, `NotShown` where it is certain of
    a hazard that no execution has.
    """
    if APACHE in text:
        stats[f"{family}: not TileLang's"] += 1
        return
    try:
        before, completed = both(text)
    except Refused:
        stats[f"{family}: refused by ThreadSync"] += 1
        return
    model = Model(completed, [], inputs_from(seed))
    wrong = goes_wrong(model, some_modes(model, seed, tried))
    if not wrong and any(word in text for word in ASYNC_PROXY):
        wrong = goes_wrong(model, as_it_stands(3, seed, fences=True))
    report, after = lint(before, BarrierStage.LATER), lint(completed, BarrierStage.PRESENT)
    runs = "ill-defined" if wrong else "well defined"
    stats[f"{family}: lint says {report.status}, behind the passes {after.status}, {runs}"] += 1
    judge_report(report, model, seed, wrong, f"{family} before its barriers", text)
    judge_report(after, model, seed, wrong, f"{family} behind the passes", text)
