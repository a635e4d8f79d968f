"""Commands that compare methods."""
