"""Readers that end in the access tree. The one for live TIR objects lives with its compiler."""
