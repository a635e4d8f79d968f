"""Files of other programs, and of other libraries: in and out."""
