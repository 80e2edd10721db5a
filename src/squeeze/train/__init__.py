"""Training: straight-line programs that make what squeeze ships, and the losses that they use."""
