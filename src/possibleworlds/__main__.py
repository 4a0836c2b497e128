"""`python -m possibleworlds` is the command `possibleworlds`."""

from possibleworlds.cli import main

main()
