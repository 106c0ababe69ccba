"""Files in and out. docs/export.md is the user's side of it."""
