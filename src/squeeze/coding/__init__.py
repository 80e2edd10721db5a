"""Coding without loss: repeats of a sequence and the choice of those that are worth saying once."""
