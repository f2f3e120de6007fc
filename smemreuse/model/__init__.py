"""The vocabulary that every other part of smemreuse speaks; it knows nothing of any compiler."""
