"""Makes a child process take part in `smemreuse run`, and then gets out of the way.

Python imports a `sitecustomize` when it starts; the folder of this one is at the front of
`PYTHONPATH` in the children of a run. One of the machine's own is imported after it.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - before all else


def _take_part() -> None:
    settings = os.environ.get("SMEMREUSE_RUN")
    if settings:
        try:
            from smemreuse.compilers.watch import watch
        except ImportError:  # another Python, which has no smemreuse; it may have no kernels either
            return
        watch(settings)


def _step_aside() -> None:
    sys.path[:] = [one for one in sys.path if os.path.abspath(one or os.curdir) != HERE]  # noqa: PTH100
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_take_part()
_step_aside()
