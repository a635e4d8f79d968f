"""Dialogues and the relations in them: DRMR and RoleGPT."""
