"""What is found of a kernel: linear sequences, live ranges, plans, verdicts."""
