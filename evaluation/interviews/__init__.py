"""Interviews by an inventory, as a graph (InCharacter)."""
