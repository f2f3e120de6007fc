"""The last line that a verb has for people: what to do next. Needs nothing that draws."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smemreuse.errors import printable

_GOES_ON = " \\"


@dataclass(frozen=True)
class NextStep:
    """What to do next: `words` of a command to paste, quoted for a shell, and what it is for in
    `why`. Without words there is nothing to do, and `why` gives the reason; but where that is
    `by_hand` it tells what is left to do, for which no command is. `instead` is the second best."""

    why: str
    words: tuple[str, ...] = ()
    by_hand: bool = False
    instead: NextStep | None = None

    def lines(self, width: int, what: str = "next") -> Iterator[str]:
        """One line; where that is longer than `width`, the command stands in lines of its own."""
        yield from self._own_lines(width, what)
        if self.instead is not None:
            yield from self.instead.lines(width, "or")

    def _own_lines(self, width: int, what: str) -> Iterator[str]:
        if not self.words:
            text = f"{what}: {self.why}" if self.by_hand else f"{what}: nothing to do: {self.why}"
            yield from textwrap.wrap(text, max(width, 20), subsequent_indent="  ")
            return
        lead = f"{what} ({self.why}):"
        line = " ".join([lead, *self.words])
        if len(line) <= width:
            yield line
        else:
            yield from textwrap.wrap(lead, max(width, 20), subsequent_indent="  ")
            yield from command_lines(self.words, width)


def command_lines(words: Sequence[str], width: int) -> Iterator[str]:
    """A command of quoted words, ready to paste, in lines of `width` characters.

    The shell joins lines that end in a backslash: after a space they are words, and at the first
    column of the next line the two halves of one word, such as a path that is longer than a line.
    """
    line = ""
    together = [*_with_values(words, width)]
    for number, word in enumerate(together, 1):
        room = width - (len(_GOES_ON) if number < len(together) else 0)
        if line and len(line) + 1 + len(word) + len(_GOES_ON) > width:
            yield line + _GOES_ON
            line = ""
        line = f"{line} {word}" if line else word
        while len(line) > room and _may_be_cut(word):
            end = min(width, len(line)) - 1  # a rest, after which a space goes before the next word
            yield line[:end] + "\\"
            line = line[end:]
    if line:
        yield line


def _with_values(words: Sequence[str], width: int) -> Iterator[str]:
    """The words, an option together with its value where both have room on one line."""
    rest = [*words]
    while rest:
        word = rest.pop(0)
        together = f"{word} {rest[0]}" if rest else ""
        is_valued = word.startswith("-") and rest and not rest[0].startswith("-")
        if is_valued and len(together) + len(_GOES_ON) <= width:
            rest.pop(0)
            word = together
        yield word


def _may_be_cut(word: str) -> bool:
    """Whether a shell joins the two halves: between quotes it would keep the backslash."""
    return "'" not in word and "\\" not in word


def nothing(why: str) -> NextStep:
    """That there is nothing to do, and why."""
    return NextStep(why)


def by_hand(what: str, instead: NextStep | None = None) -> NextStep:
    """What is left to do, for which no command is, and a command that does the second best."""
    return NextStep(what, by_hand=True, instead=instead)


def command(why: str, *words: object) -> NextStep:
    """A call of smemreuse and what it is for; words are quoted."""
    return NextStep(why, ("smemreuse", *quoted(*words)))


def quoted(*words: object) -> tuple[str, ...]:
    """The words as a shell takes them; characters that could steer a terminal are escaped."""
    return tuple(printable(shlex.quote(str(word))) for word in words)


def path(file: str) -> str:
    """A file as an argument: one that begins with a hyphen is no option."""
    return f"./{file}" if file.startswith("-") and file != "-" else file


# After verbs that write files ---------------------------------------------------------------------


def after_apply(
    file: str,
    output: str,
    merged: bool,
    too_large_for: str | None = None,
    *,
    gains: bool = True,
    needed: bool = True,
    hazardous: bool = False,
) -> NextStep:
    """`merged` tells whether anything was; `too_large_for` is the GPU on which it does not fit.
    `gains` tells whether anything shares bytes, or was inserted or taken out, `needed` whether the
    compiler's default merge does not do as well; `hazardous`, that a kernel has certain hazards."""
    if too_large_for is not None:
        return command("what would make it fit", "fit", path(file), "--arch", too_large_for)
    if not merged:
        return nothing("no two buffers were to be merged")
    if not gains and needed:
        return command("why no two buffers share bytes", "explain", path(file))
    if not needed:
        what = "what was written" if output == "-" else printable(output)
        why = f"{what} is not needed: the default merge is proved, and takes as many bytes"
        return command(f"{why}; {KERNELS_OWN}", "lint", path(file)) if hazardous else nothing(why)
    if output == "-":
        words = command("", "apply", path(file), "-o", "-").words
        return NextStep("check it", (*words, "|", *command("", "check", "-").words))
    return command("check what was written", "check", path(output))


def after_page(output: str) -> NextStep:
    """After a page or a picture was written to a file."""
    return NextStep("look at it", quoted("python3", "-m", "webbrowser", output))


def after_page_text(files: Sequence[str]) -> NextStep:
    """After a page was written to standard output."""
    return command("a file of it", "report", *map(path, files), "-o", "report.html")


def after_picture(file: str, kind: str) -> NextStep:
    """After a picture was written to standard output."""
    return command("a file of it", "graph", path(file), "--kind", kind, "-o", f"{kind}.svg")


def after_pack(
    file: str, *, fits: bool | None, smallest: bool, capacity: int | None, seconds: float
) -> NextStep:
    """`fits` is None where that was not decided in so many seconds; `smallest` is proved."""
    if fits is False:
        return nothing("it is proved that nothing fits")
    if fits and (smallest or capacity is not None):
        return nothing("no packing is smaller" if smallest else "it fits")
    within = () if capacity is None else ("--capacity", capacity)
    longer = ("--seconds", f"{max(1, 10 * seconds):g}")
    return command("search longer", "pack", path(file), *within, *longer)


Options = Sequence[str]
"""Options of the verb that was called which the next one takes, too."""

NO_BUFFERS = nothing("there are no shared buffers")
KERNELS_OWN = "the kernel's own hazards, and their fixes"
MERGED = ("-o", "merged.tir")


def new_baseline(verb: str, files: Sequence[str], options: Options) -> NextStep:
    """Where what is worse than the baseline is meant."""
    step = command("if that is meant, a new baseline", verb, *map(path, files), *options)
    return NextStep(step.why, (*step.words, *quoted("--format", "json"), ">", "baseline.json"))
