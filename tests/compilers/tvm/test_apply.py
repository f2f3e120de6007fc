"""A dump merged as text is read by TVM again, and becomes the CUDA that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import run
from tests.conftest import ROOT

pytestmark = pytest.mark.tvm

DUMPS = sorted((ROOT / "fixtures" / "tvm_dumps").glob("*.tir"))


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_the_merged_text_compiles(path: Path, tmp_path: Path) -> None:
    import tvm
    from tvm.script import from_source
    from tvm.tirx.build import split_host_device_mods

    merged = tmp_path / "merged.tir"
    result = run("apply", str(path), "-o", str(merged))
    assert result.exit_code == 0, result.output
    mod = from_source(merged.read_text())
    for each in (tvm.tirx.transform.SplitHostDevice(), tvm.tirx.transform.MakePackedAPI()):
        mod = each(mod)
    _, by_target = split_host_device_mods(mod)
    ((target, device),) = by_target.items()
    device = tvm.s_tir.pipeline.finalize_device_passes()(device)
    source = tvm.get_global_func("target.build.cuda")(device, target).inspect_source("cuda")
    assert "shmem_ptr[" in source
    assert run("check", str(merged)).exit_code == 0
