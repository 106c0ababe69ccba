"""What surrounds every page: the shell, and the HTML that stands before the scripts have run."""
