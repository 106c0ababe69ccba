"""A cluster that is not there: GB10 nodes and one inference engine, simulated and served over HTTP.

Nothing of the product is imported here, and the product imports nothing from here: what both sides know, they know
separately, so that one can testify against the other.
"""
