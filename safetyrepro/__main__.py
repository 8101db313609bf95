"""`python -m safetyrepro` is the command line."""

from safetyrepro.cli import main

main()
