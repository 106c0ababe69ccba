"""Every setting, once: `table` says what there is, `sources` where values come from. Only app and cli import it."""

from settings.sources import FILE, SettingsError, load, state_directory, to_environment, without_password
from settings.table import PREFIX, TABLE, Setting, Settings

__all__ = [
    "FILE",
    "PREFIX",
    "TABLE",
    "Setting",
    "Settings",
    "SettingsError",
    "load",
    "state_directory",
    "to_environment",
    "without_password",
]
