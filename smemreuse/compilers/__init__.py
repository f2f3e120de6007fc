"""All that a compiler, or a version of one, changes: how its IR is read, written and hooked."""
