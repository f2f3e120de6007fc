"""What measures whole spaces of tile configurations: compiling, launching, workers, the data."""
