"""How a finding is made to show on a GPU: which threads are late where, and what that gives."""
