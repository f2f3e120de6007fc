"""The traces of a check: which there are, and what runs in each."""
