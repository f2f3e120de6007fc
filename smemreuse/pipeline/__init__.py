"""Proposes plans, has them judged, chooses.

`planning` makes one plan, `proposals` a lazy stream of candidates, `choice` takes the first that
may be applied. Verdicts, sequences and plans are kept with the kernel's facts: nothing is worked
out twice.
"""
