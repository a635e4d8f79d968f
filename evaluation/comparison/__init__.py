"""Methods compared on the same roles and questions."""
