"""`python -m channels` is the command `placet`."""

from channels.command import main

main()
