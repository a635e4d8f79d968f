"""What a role knows, kept on disk."""
