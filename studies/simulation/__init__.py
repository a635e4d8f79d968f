"""Measures of simulations, taken from their logs (ID-RAG)."""
