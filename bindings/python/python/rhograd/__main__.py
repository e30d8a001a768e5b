"""The command line program: ``python -m rhograd``, and the script ``rhograd`` that the wheel installs."""

import signal
import sys

from ._rhograd import command_line


def main() -> int:
    """Runs the words of this process; its exit code."""
    # Python would only note an interrupt, and look at it when the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(["rhograd", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
