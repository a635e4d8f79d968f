"""Inventories as data, with their keys, scales and licences."""
