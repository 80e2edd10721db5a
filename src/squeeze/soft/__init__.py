"""Soft tokens: encoders that turn passages into vectors, and the reader that puts them before a language model."""

from squeeze.errors import need

need("torch", extra="soft")  # the pip line to run, instead of a bare import error

from squeeze.soft.arc import ArcEncoder, ArcSettings  # noqa: E402
from squeeze.soft.cache import VectorCache  # noqa: E402
from squeeze.soft.compllm import CompEncoder, CompSettings  # noqa: E402
from squeeze.soft.fingerprint import model_fingerprint  # noqa: E402
from squeeze.soft.inputs import Inputs, prepare_embeds, text_embeds  # noqa: E402
from squeeze.soft.prompt import SLOT, prompt_ids  # noqa: E402
from squeeze.soft.ram import RamEncoder, RamSettings  # noqa: E402
from squeeze.soft.reader import Reader, generate_ids  # noqa: E402

__all__ = [
    "SLOT",
    "ArcEncoder",
    "ArcSettings",
    "CompEncoder",
    "CompSettings",
    "Inputs",
    "RamEncoder",
    "RamSettings",
    "Reader",
    "VectorCache",
    "generate_ids",
    "model_fingerprint",
    "prepare_embeds",
    "prompt_ids",
    "text_embeds",
]
