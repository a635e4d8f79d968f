"""Exports of messengers, read into who wrote what and when: a file a messenger, and a table of them."""
