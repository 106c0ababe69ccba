"""Charts as plain dictionaries: functions from values to figures."""
