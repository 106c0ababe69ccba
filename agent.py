"""The node agent: serves this node's measurements on port 9810. Everything it does is in `collectors.node`."""

from __future__ import annotations

import sys

from collectors.node.command import main

if __name__ == "__main__":
    sys.exit(main())
