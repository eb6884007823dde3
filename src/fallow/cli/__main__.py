"""`python -m fallow.cli` is the command line too."""

from fallow.cli import main

main()
