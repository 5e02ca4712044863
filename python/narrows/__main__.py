"""`python -m narrows`: the command line without its script."""

from narrows.cli import main

main()
