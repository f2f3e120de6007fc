"""Tests of levers."""
