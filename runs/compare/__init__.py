"""Comparison of runs: speed at equal concurrency, with what noise alone could have done. Pure."""
