"""Roles written for this project; a library copies one when it is first opened."""
