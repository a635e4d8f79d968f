"""Commands about roles and what they know."""
