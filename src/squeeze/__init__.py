"""Squeeze shortens what a retriever found before a language model reads it."""

__version__ = "0.1.0"
