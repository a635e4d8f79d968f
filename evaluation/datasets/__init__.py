"""Datasets that a user has, read into one model."""
