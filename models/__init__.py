"""How a chat model, an embedding model and an answer to one kind of question are had."""
