"""Judges: a chat model that is asked what a reply is worth."""
