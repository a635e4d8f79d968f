"""Flows that are put together from the nodes of this package; docs/how-to/composing.md explains them."""
