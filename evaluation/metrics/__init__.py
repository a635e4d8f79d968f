"""Metrics of the papers and what their numbers can bear: pure functions of plain numbers, without a model."""
