"""``python -m clawperator``: the same as the ``clawperator`` script."""

import sys

from clawperator.app.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
