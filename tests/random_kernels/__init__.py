"""Random kernels, grown from choices: arbitrary trees, and kernels that the model can run."""
