"""Shared-memory reuse for GPU kernels: as tight as can be proved, never wrong, explained."""

from smemreuse.errors import BackendError, InputError, PlanError, SmemReuseError

__version__ = "0.1.0"

__all__ = ["BackendError", "InputError", "PlanError", "SmemReuseError", "__version__"]
