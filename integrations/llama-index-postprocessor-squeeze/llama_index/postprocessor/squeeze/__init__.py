"""squeeze as a LlamaIndex node postprocessor."""

from llama_index.postprocessor.squeeze.base import SqueezePostprocessor
from llama_index.postprocessor.squeeze.events import CompressEndEvent, CompressErrorEvent, CompressStartEvent

__all__ = ["CompressEndEvent", "CompressErrorEvent", "CompressStartEvent", "SqueezePostprocessor"]
