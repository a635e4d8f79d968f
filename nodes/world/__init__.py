"""A small world that several agents act in: Riverbend."""
