"""Readers of the datasets that studies alone use."""
