"""What adapters to RAG frameworks share: their settings, one call under an error policy, and the account of it.

An adapter converts, calls, converts back. It takes a `Settings`, hands its passages to `Settings.attempt`, and writes
the texts and the provenance of the `Outcome` into its framework's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from squeeze.api import kept_compressor
from squeeze.base import Compressor
from squeeze.errors import ConfigError, nearest
from squeeze.registry import method_class
from squeeze.types import Budget, Compressed, TextPart

KEY = "squeeze"
"""Key of the metadata under which adapters write what became of a text."""

ON_ERROR = ("raise", "passthrough")

TITLE_KEYS = ("title", "Title", "document_title", "page_title", "section_title", "header_path", "heading")
"""Keys of the metadata that are looked up for a title, in this order. File names are not: they are rarely words."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that every adapter has, checked as a whole when they are made.

    Attributes:
        method: name of the method, one of `squeeze.available()` whose result is text.
        max_tokens: tokens that the result may have.
        keep: share of the tokens that the result may have, 0 to 1. With both limits the tighter one holds.
        tokenizer: what counts tokens (see `squeeze.tokens.load_tokenizer`).
        options: options of the method.
        on_error: `raise`, or `passthrough`: the input goes on as it is, with the error in its metadata.
        title_key: key of the metadata that holds a text's title, looked up before `TITLE_KEYS`.
        drop_empty: whether texts of which nothing is kept are left out of the result.
    """

    method: str = "edu"
    max_tokens: int | None = None
    keep: float | None = None
    tokenizer: Any = "estimate"
    options: Mapping[str, Any] = field(default_factory=dict)
    on_error: str = "raise"
    title_key: str | None = None
    drop_empty: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.on_error, str) or self.on_error not in ON_ERROR:
            raise ConfigError(f"on_error is {self.on_error!r}; {nearest(str(self.on_error), ON_ERROR)}")
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise ConfigError(f"options is {self.options!r}; allowed: a dict with names of options as keys")
        if self.title_key is not None and not isinstance(self.title_key, str):
            raise ConfigError(f"title_key is {self.title_key!r}; allowed: a key of the metadata, or None")
        if not isinstance(self.drop_empty, bool):
            raise ConfigError(f"drop_empty is {self.drop_empty!r}; allowed: True or False")
        _ = self.budget
        output = method_class(self.method).output
        if output != "text":
            raise ConfigError(
                f"method {self.method!r} gives {output} results, which have no text to put into a prompt; "
                "allowed: methods whose result is text, such as 'edu'"
            )
        _ = self.compressor

    @classmethod
    def of(cls, adapter: Any) -> Self:
        """The settings that an object carries as attributes of the same names."""
        return cls(**{name: getattr(adapter, name) for name in _NAMES})

    @classmethod
    def check(cls, given: Mapping[str, Any], allowed: Iterable[str]) -> None:
        """Checks the arguments of an adapter's constructor.

        Args:
            given: names and values of the arguments.
            allowed: names that the adapter knows, these settings and its own.

        Raises:
            ConfigError: a name is not allowed, or a value of these settings.
        """
        known = set(allowed)
        for name in given:
            if name not in known:
                raise ConfigError(f"there is no setting {name!r}; {nearest(name, known)}")
        cls(**{name: value for name, value in given.items() if name in _NAMES})

    @property
    def budget(self) -> Budget:
        """The limits."""
        return Budget(self.max_tokens, self.keep)

    @property
    def compressor(self) -> Compressor:
        """The compressor, shared with `squeeze.compress` and with adapters of the same settings."""
        return kept_compressor(self.method, self.tokenizer, self.options)

    def title(self, metadata: Mapping[str, Any]) -> str:
        """The title that the metadata holds, empty for none."""
        for key in TITLE_KEYS if self.title_key is None else (self.title_key, *TITLE_KEYS):
            value = metadata.get(key)
            if isinstance(value, str) and value.strip():
                return value
        return ""

    def attempt(self, work: Callable[[], Compressed]) -> Outcome:
        """What `work` gives, or the exception that it raised."""
        try:
            return Outcome(self, work())
        except Exception as error:  # whatever a model or a scorer raises: the policy is about the request, not the kind
            return Outcome(self, None, error)


_NAMES = frozenset(setting.name for setting in fields(Settings))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call of an adapter: its result, or the error.

    Attributes:
        settings: the settings of the call.
        result: what the compressor gave, None after an error.
        error: what was raised, or None.
    """

    settings: Settings
    result: Compressed | None
    error: Exception | None = None

    @property
    def raises(self) -> bool:
        """Whether the call is to raise its error."""
        return self.error is not None and self.settings.on_error == "raise"

    def settle(self) -> None:
        """Raises the error if there is one and the policy is to raise."""
        if self.error is not None and self.raises:
            raise self.error

    @property
    def message(self) -> str | None:
        """The kind of the error and what it says, None without one."""
        return None if self.error is None else f"{type(self.error).__name__}: {self.error}"

    def texts(self) -> dict[int, str]:
        """What goes into the prompt for each passage, by index; passages of which nothing is kept only on demand.

        A lossless method's dictionary stands in front of the first one, where the model reads it.
        """
        if self.result is None:
            return {}
        texts = self.result.texts()
        if self.result.coding and texts:
            lead, first = self.result.parts[0].lead, min(texts)
            texts[first] = lead + texts[first]
        if not self.settings.drop_empty:
            texts = {index: texts.get(index, "") for index in range(len(self.result.passages))}
        return texts

    def provenance(self, index: int | None, earlier: Any = None) -> dict[str, Any]:
        """What became of one passage, JSON-ready: method, kept spans, kept share of its characters, and warnings.

        Args:
            index: the passage; None for a text that was not compressed because of an error.
            earlier: what stood in its place; kept under `earlier`, since spans of this stage are offsets into its
                result.
        """
        note: dict[str, Any] = {"method": self.settings.method}
        if self.result is not None and index is not None:
            spans, size = self.result.spans(index), len(self.result.passages[index].text)
            kept = sum(end - start for start, end in spans)
            note |= {"spans": [list(span) for span in spans], "kept": round(kept / size, 4) if size else 1.0}
            codes = [notice.code for notice in self.result.warnings if notice.passage in (None, index)]
            if codes:
                note["warnings"] = codes
        if self.error is not None:
            note["error"] = self.message
        if earlier is not None:
            note["earlier"] = earlier
        return note

    def account(self) -> dict[str, Any]:
        """The call as a whole, JSON-ready, for events."""
        note: dict[str, Any] = {"method": self.settings.method, "on_error": self.settings.on_error}
        if self.result is not None:
            note |= {
                "tokenizer": self.result.tokenizer,
                "passages": len(self.result.passages),
                "passages_kept": len({p.passage for p in self.result.parts if not isinstance(p, TextPart) or p.spans}),
                "tokens_before": self.result.tokens_before,
                "tokens_after": self.result.tokens_after,
                "seconds": self.result.seconds,
                "warnings": [{"code": notice.code, "message": notice.message} for notice in self.result.warnings],
            }
        return note | {"error": self.message}


def copied(value: Any) -> Any:
    """A copy of metadata whose dicts, lists and sets are new; other values are shared, however big they are."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return set(value) if isinstance(value, set) else value
