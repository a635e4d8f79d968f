"""Models that run here: their weights, and what serves them."""
