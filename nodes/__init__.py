"""One file a mechanism: its settings, the slice of state it reads and writes, its functions and outcomes."""
