"""What expressions are worth in a trace, and which bytes follow from that."""
