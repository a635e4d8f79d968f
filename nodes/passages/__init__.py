"""Passages of documents: AMADEUS, plain retrieval and CRAG."""
