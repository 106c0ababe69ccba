"""The agent's version; the same as the product's."""

VERSION = "0.1.0"
