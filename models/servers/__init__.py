"""Servers that speak OpenAI's protocol: what each takes, and what comes back."""
