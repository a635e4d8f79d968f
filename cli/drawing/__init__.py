"""Commands that draw what a role knows."""
