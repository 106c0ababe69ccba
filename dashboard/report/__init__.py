"""A run as something to pass on: one HTML file, a Markdown text, a bundle. All are made of the same content."""
