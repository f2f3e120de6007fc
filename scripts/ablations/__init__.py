"""Mechanisms switched off one at a time, and what changes then."""
