"""The tables of what is applied in TileLang's own examples, for docs/results.md."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.applied.summary import added, added_in_all, launched, less, starts, stops
from scripts.results import markdown, percent

FAMILIES: dict[str, tuple[str, ...]] = {
    "block-sparse matmul, copies under a condition": ("blocksparse_gemm-example",),
    "sparse MLA, forward": ("deepseek_v32-sparse_mla_fwd", "dsa_sparse_finetune-sparse_mla_fwd"),
    "DeepSeek sparse attention": (
        *("deepseek_v4-sparse_attn", "deepseek_nsa-example", "dsa_sparse_finetune-index"),
        *("deepseek_v32-fp8_lighting", "dsa_hisa-block_sparse"),
    ),
    "fp8 and fp4 activation quantization": ("deepseek_v4-act_quant",),
    "chunked delta rule": ("gdn-example_chunk_delta", "kda-chunk_delta"),
    "KDA, backward": ("kda-chunk_bwd", "kda-wy_fast_bwd"),
    "FlashAttention, forward": (
        "flash_attention-example_mha_fwd_b",
        "flash_attention-example_gqa_fwd_b",
    ),
    "FlashAttention, backward": (
        "flash_attention-example_mha_bwd",
        "flash_attention-example_gqa_bwd",
    ),
    "MLA decode": ("deepseek_mla-example", "warp_specialize-example_warp_specialize_flashmla"),
    "attention, variable length": (
        *("flash_attention-example_mha_fwd_varlen", "flash_attention-example_gqa_fwd_varlen"),
        "attention_sink-example_gqa_sink_fwd_varlen",
    ),
}

Function = Mapping[str, Any]


def applied_table(functions: Sequence[Function]) -> str:
    """For each architecture and objective: what the applied plans come to, beside the default."""
    heads = (
        *("GPU", "objective", "kernels", "side by side", "default", "smemreuse", "larger"),
        *("fewer blocks", "more blocks", "launches no longer", "launches only now"),
        *("proved", "kept"),
    )
    rows = []
    for arch in sorted({each["arch"] for each in functions}):
        own = [each for each in functions if each["arch"] == arch and "launches" in each]
        launches = [one for _, one in launched(own) if one["default"]["bytes"]]
        rows += [_objective_row(arch, label, launches) for label in ("speed", "bytes")]
    return markdown(heads, rows)


def _objective_row(arch: str, label: str, launches: Sequence[Mapping[str, Any]]) -> list[str]:
    plans = [plan for each in launches for plan in each[label]["plans"]]
    proved = sum(plan["verdict"] == "sound" for plan in plans)
    kept = sum(plan["origin"] == "kept from compiler" for plan in plans)
    pairs = [(each["default"], each[label]) for each in launches]
    return [
        arch,
        f"`{label}`",
        str(len(launches)),
        *(_megabytes(launches, name) for name in ("side_by_side", "default", label)),
        str(sum(less(before, after, "bytes") for before, after in pairs)),
        str(sum(less(after, before, "blocks") for before, after in pairs)),
        str(sum(less(before, after, "blocks") for before, after in pairs)),
        str(sum(stops(each, label) for each in launches)),
        str(sum(starts(each, label) for each in launches)),
        *(percent(part / max(1, len(plans))) for part in (proved, kept)),
    ]


def _megabytes(launches: Sequence[Mapping[str, Any]], merge: str) -> str:
    return f"{sum(each[merge]['bytes'] for each in launches) / 1e6:.3f} MB"


def applied_families(functions: Sequence[Function]) -> str:
    """Of some families of kernels: bytes of a block, and resident blocks, before and after."""
    lines = [
        "| kernels | GPU | TileLang default | smemreuse `speed` | smemreuse `bytes` |",
        "|---" * 5 + "|",
    ]
    for family, programs in FAMILIES.items():
        lines += [f"| **{family}** | | | | |"]
        lines += dict.fromkeys(
            f"| `{_short(name)}` | {name.partition('/')[0]} | {_cells(launch)} |"
            for name, launch in launched(each for each in functions if "launches" in each)
            if name.partition("/")[2].startswith(programs) and len(launch["speed"]["plans"])
        )
    return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    """Program and function, without the folder and the number."""
    program, function = name.partition("/")[2].split("__", 1)
    return f"{program.partition('-')[2].removeprefix('example_')}, {function.rpartition('__')[0]}"


def _cells(launch: Mapping[str, Any]) -> str:
    return " | ".join(_size(launch[merge]) for merge in ("default", "speed", "bytes"))


def _size(found: Mapping[str, Any]) -> str:
    if found["bytes"] is None:
        return "unknown"
    blocks = found["blocks"]
    if blocks == 0:
        return f"{found['bytes']:,} B, does not launch"
    return f"{found['bytes']:,} B" if blocks is None else f"{found['bytes']:,} B, {blocks}"


def applied_coverage(data: Mapping[str, Any]) -> str:
    """How many functions were lowered, and which."""
    archs = [each["arch"] for each in data["functions"] if "launches" in each]
    counts = ", ".join(f"{archs.count(arch)} for {arch}" for arch in sorted(set(archs)))
    which = ", a selection: of functions alike one each" if data["one_each"] else ""
    return f"TileLang {data['tilelang']}; functions lowered: {counts}{which}.\n"


def applied_times(data: Mapping[str, Any]) -> str:
    """What smemreuse adds to a lowering, nvcc and code generation not counted."""
    functions = data["functions"]
    if data["rough"]:
        return "Not measured here: each was lowered once, on a busy machine.\n"
    rows = []
    own = [each for each in functions if "seconds" in each]
    for label in ("speed", "bytes"):
        shares = sorted(added(each, label) for each in own)
        some = statistics.median(shares), shares[int(0.9 * len(shares))], shares[-1]
        cells = (*some, added_in_all(own, label))
        rows.append((f"`{label}`", *(f"{100 * each:.0f} %" for each in cells)))
    return markdown(("objective", "median", "90 of 100", "worst", "in all"), rows)
