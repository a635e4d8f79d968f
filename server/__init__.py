"""Doors beside the LangGraph API: a role as a model of an OpenAI-compatible server."""
