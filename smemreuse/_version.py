"""The version of this package, which every room may name."""

__version__ = "0.1.0"
