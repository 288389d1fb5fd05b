"""`python -m glassformer` is the command line."""

from glassformer.cli.main import main

main()
