"""The barriers that a later pass is predicted to insert (rule 6)."""
