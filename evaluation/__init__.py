"""Measures of runs: instruments and metrics, taken from a log after the run so that they never change it."""
