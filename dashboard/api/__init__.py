"""One JSON API for pages and scripts: docs/api.md describes every route."""
