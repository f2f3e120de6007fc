"""The loops of a trace: executed, found to be periodic, and fast-forwarded."""
