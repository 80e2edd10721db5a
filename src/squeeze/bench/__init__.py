"""Benchmarks: `squeeze bench` measures on your own rows; the programs here measure more (`squeeze bench --list`)."""
