"""Commands that play, show and measure simulations."""
