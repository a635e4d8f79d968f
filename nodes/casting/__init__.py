"""A character cast from a text: who is in it, who says what, and drafts of the files that the five methods read."""
