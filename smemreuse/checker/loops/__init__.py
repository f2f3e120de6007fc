"""The loops of a trace: run, seen to repeat themselves, and shortened."""
