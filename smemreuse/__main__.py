"""`python -m smemreuse`."""

from smemreuse.cli import main

main()
