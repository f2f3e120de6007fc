"""The machine that a trace runs on: memory, clocks, queues, mbarriers, fences."""
