"""`dramaturg new-flow`: flows of one's own."""
