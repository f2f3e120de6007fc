"""Who is live when: one file for each policy."""
