"""How each kind of evidence is shown."""
