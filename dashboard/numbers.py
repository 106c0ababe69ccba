"""Numbers in addresses: of runs, alerts, commands, annotations."""

from __future__ import annotations

from werkzeug.routing import IntegerConverter


class Number(IntegerConverter):
    """A number that a store can hold; at the address of any other there is nothing."""

    regex = "[0-9]{1,18}"
