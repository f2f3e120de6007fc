"""What times kernels under several merges side by side: compiling, checking, timing, a process."""
