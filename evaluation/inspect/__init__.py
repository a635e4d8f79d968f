"""Roles in Inspect, the framework of the UK AI Security Institute (the package inspect_ai), and runs as its logs."""
