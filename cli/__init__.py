"""The `dramaturg` command."""
