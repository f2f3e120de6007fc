"""Why two buffers may share bytes, or what forbids it."""
