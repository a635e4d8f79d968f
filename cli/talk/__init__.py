"""Commands that talk to a role."""
