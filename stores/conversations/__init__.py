"""What conversations leave behind beside their checkpoints."""
