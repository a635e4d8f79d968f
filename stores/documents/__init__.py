"""What people write of a role: read with the line of every error, and changed whole or not at all."""
