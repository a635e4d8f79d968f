"""The knowledge graph of entities and relations: RoleRAG and GraphRAG's local search."""
