#!/usr/bin/env python3
"""Tachograph: `python app.py COMMAND`. Hands over to `cli`; nothing imports this file."""

from __future__ import annotations

import sys

from cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
