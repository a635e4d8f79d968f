"""Flows that are put together from the nodes of this package; docs/composing.md explains them."""
