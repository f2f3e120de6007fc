"""The verdict on a plan: static rules, traces, findings."""
