"""When a deployment worked, and how well: runs found, described, summarised and compared. Pure."""
