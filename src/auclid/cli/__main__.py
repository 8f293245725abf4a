"""python -m auclid.cli"""

from auclid.cli import main

main()
