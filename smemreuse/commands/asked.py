"""Which files of a baseline a command line asks for: what of these is not found is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from pathlib import Path

from smemreuse.commands.batches import Batch
from smemreuse.commands.inputs import STDIN, STDIN_NAME


@dataclass(frozen=True)
class Asked:
    """The files and folders that were given, by their absolute paths.

    `emptied` are files of the baseline for which one without any kernel stands now.
    """

    read: Set[Path]
    folders: Collection[Path]
    emptied: Set[str]

    @classmethod
    def of(cls, batch: Batch, found: Iterable[str], before: Iterable[str]) -> Asked:
        """What `batch` asks for, with kernels `found` in these files and of those `before`."""
        given = [STDIN_NAME if one == STDIN else one for one in batch.inputs.paths]
        read = {Path(one).absolute() for one in given}
        with_kernels, known = {*found}, {*before}
        empty = {one for one in given if one not in with_kernels}
        elsewhere = {Path(one).absolute() for one in known}
        names = {Path(one).name for one in empty if Path(one).absolute() not in elsewhere}
        emptied = {one for one in known if Path(one).name in names}
        folders = [Path(one).absolute() for one in batch.files if Path(one).is_dir()]
        return cls(read, folders, emptied)

    def __call__(self, file: str) -> bool:
        """Whether a file of a baseline should have been found: it was given, by itself or with its
        folder; or it is not there any more, in a folder that still is, or, where folders were
        given, of another machine, say."""
        path = Path(file).absolute()
        if path in self.read or file in self.emptied:
            return True
        if any(path.is_relative_to(folder) for folder in self.folders):
            return True
        return file != STDIN_NAME and self._is_gone(path)

    def _is_gone(self, path: Path) -> bool:
        try:
            return not path.exists() and (bool(self.folders) or path.parent.is_dir())
        except (OSError, ValueError):  # a name that is too long, a folder that cannot be entered
            return bool(self.folders)
