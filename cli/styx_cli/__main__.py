"""`python -m styx_cli`: the same as `styx`."""

from styx_cli.main import main

main()
