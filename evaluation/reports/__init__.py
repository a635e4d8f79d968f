"""The report of a comparison: tables, Markdown, a page."""
