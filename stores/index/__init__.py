"""What is derived from a role's files: passages, a knowledge graph, memories and dialogues, in versions."""
