"""The identity graph: ID-RAG."""
