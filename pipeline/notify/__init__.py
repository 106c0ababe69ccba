"""Notifications: what is told to whom is decided in the tick; all the rest happens in a process of its own."""
