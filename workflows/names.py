"""The methods by name, for who lists them and imports none."""

from collections.abc import Mapping

METHODS: Mapping[str, str] = {
    "amadeus": "amadeus",
    "role-rag": "role_rag",
    "emotional-rag": "emotional_rag",
    "drmr": "drmr",
    "id-rag": "id_rag",
    "naive-rag": "naive_rag",
    "crag": "crag",
    "graph-rag-local": "graph_rag_local",
    "role-gpt": "role_gpt",
    "profile": "profile",
    "vanilla": "vanilla",
    "ensemble": "ensemble",
}
"""The package's methods, each with the module that wires it."""
