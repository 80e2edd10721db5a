"""squeeze for Ray Data: encode a corpus into a shared cache of vectors, or compress it, on many workers."""

from ray_squeeze.pipelines import compress, encode

__all__ = ["compress", "encode"]
