"""Pairs of buffers in groups: those that are told alike in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.results.explanation import LIVE_TOGETHER, Explanation, Sharing

Names = tuple[str, str]

MOST_ALLOWED, MOST_REFUSED = 8, 4
"""Groups of pairs that may share, and of those that may not for one reason, that are told."""


def grouped(pairs: Sequence[Names], most: int = 1_000) -> list[str]:
    """`A, B with C, D`: each pair once, whatever has the same partners together.

    Of more than `most` such lines the last says how many pairs are not in the others.
    """
    partners: dict[str, list[str]] = {}
    for one, two in pairs:
        partners.setdefault(one, []).append(two)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, others in partners.items():
        alike.setdefault(tuple(others), []).append(name)
    lines = [
        (f"{', '.join(names)} with {', '.join(shared)}", len(names) * len(shared))
        for shared, names in alike.items()
    ]
    told = [line for line, _ in lines[:most]]
    rest = sum(count for _, count in lines[most:])
    return [*told, f"and {rest} more pairs (--all)"] if rest else told


def grouped_lines(pairs: Sequence[Explanation]) -> Iterator[Text]:
    """Who may share, and who not by what; pairs that are live together are counted."""
    for sharing in Sharing:
        found = [pair for pair in pairs if pair.sharing is sharing]
        if not found:
            continue
        yield Text(f"{sharing.words}, {len(found)} of {len(pairs)} pairs:")
        lines = _allowed(found) if sharing is Sharing.MAY else _refused(found)
        for line in lines:
            yield Text(f"  {line}")


def _allowed(pairs: Sequence[Explanation]) -> Iterator[str]:
    """Those that may share, and why the compilers' own rule does not let them."""
    yield from grouped([pair.names for pair in pairs], MOST_ALLOWED)
    for why, kept in _by(pairs, [pair.outer for pair in pairs]).items():
        if why:
            who = f"{len(kept)} of them" if len(kept) > 2 else _named(kept)
            yield f"policy outer keeps {who} apart: {why}"


def _refused(pairs: Sequence[Explanation]) -> Iterator[str]:
    """By rule, with one pair's reason in full."""
    for short, alike in _by(pairs, [pair.forbidden_by for pair in pairs]).items():
        if short == LIVE_TOGETHER:
            yield f"{short}: {len(alike)} pair{'s' if len(alike) > 1 else ''}, told by --all"
            continue
        yield f"{short}: {'; '.join(grouped([pair.names for pair in alike], MOST_REFUSED))}"
        told = alike[0].causes[0].text if alike[0].causes else alike[0].verdict.first_finding
        yield f"  {'for one, ' if len(alike) > 1 else ''}{told}"


def _by(pairs: Sequence[Explanation], keys: Sequence[str]) -> dict[str, list[Explanation]]:
    found: dict[str, list[Explanation]] = {}
    for pair, key in zip(pairs, keys, strict=True):
        found.setdefault(key, []).append(pair)
    return found


def _named(pairs: Sequence[Explanation]) -> str:
    return ", ".join(" and ".join(pair.names) for pair in pairs)
