"""The access tree: expressions, buffers, statements, and the lines that name them."""
