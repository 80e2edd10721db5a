"""Benchmarks: programs that print what they measure and write it as JSON."""
