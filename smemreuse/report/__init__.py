"""What people and programs read: plain data first, tables made from the same findings."""
