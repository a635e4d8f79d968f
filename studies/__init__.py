"""Retrieval studies without a judge of answers: what a method looks up is compared with marks that people made."""
