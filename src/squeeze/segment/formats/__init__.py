"""The formats: one module each, found by listing this package, imported when first asked for.

A module has `FORMAT`, an instance of a subclass of `squeeze.segment.blocks.Format`; its name is the format's.
"""
