"""A scene: several roles, who of them is there, what each hears, and who speaks next."""
