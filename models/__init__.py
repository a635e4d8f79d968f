"""Chat models, embedding models, and the kinds of questions that are asked of them."""
