"""What a measurement is, and the arithmetic on it. Pure: no clock, no file, no socket."""
