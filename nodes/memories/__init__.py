"""Memories by meaning and mood: Emotional RAG."""
