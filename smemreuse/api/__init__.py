"""What `import smemreuse` offers: functions, and kernels and plans with them as methods."""
