"""What was said in a talk, and comes back when it is spoken of again."""
