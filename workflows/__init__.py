"""One file a graph: its state, its context, its wiring."""
