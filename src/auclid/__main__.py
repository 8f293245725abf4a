"""`python -m auclid` is the command `auclid`."""

from auclid.cli import main

main()
