"""Conversations: turns on a thread that are kept, branched, taken back and carried elsewhere."""
