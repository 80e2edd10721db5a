"""The compressor: documents become passages, squeeze shortens them, and copies of the documents carry what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import ConfigDict, Field

from langchain_squeeze.events import atell, tell
from squeeze.adapting import KEY, Outcome, Settings, copied
from squeeze.errors import InputError
from squeeze.pool import in_pool
from squeeze.types import Passage


class SqueezeCompressor(BaseDocumentCompressor, BaseDocumentTransformer):
    """Shortens retrieved documents under one token budget; ids, metadata and subclasses of `Document` stay.

    The documents given are never changed: the result holds copies. What became of each stands in its metadata under
    `squeeze` (kept spans, kept share).

    Raises:
        SqueezeError: when it is made, if a setting is unknown or not allowed, or if the method's result is not text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    method: str = Field(default="edu", description="Name of a squeeze method whose result is text.")
    max_tokens: int | None = Field(default=None, description="Tokens that all documents together may have.")
    keep: float | None = Field(default=None, description="Share of the tokens that may be kept, 0 to 1.")
    tokenizer: Any = Field(default="estimate", description="What counts tokens.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the method.")
    on_error: str = Field(default="raise", description="raise, or passthrough: documents go on with the error noted.")
    title_key: str | None = Field(default=None, description="Metadata key that holds a document's title.")
    drop_empty: bool = Field(default=True, description="Whether documents of which nothing is kept are left out.")

    def __init__(self, **data: Any) -> None:
        """Takes the fields as keyword arguments."""
        Settings.check(data, type(self).model_fields)
        super().__init__(**data)

    def compress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Copies of the documents, shortened for the query.

        Args:
            documents: what the retriever found, in the order in which it goes into the prompt.
            query: the question; None, empty and blank mean "no question".
            callbacks: where the event `squeeze.compress` goes.

        Raises:
            SqueezeError: with `on_error="raise"`, what the compressor raised; so do a model's or a scorer's own errors.
        """
        outcome, shortened = self._run(documents, query)
        tell(outcome, callbacks)
        outcome.settle()
        return shortened

    async def acompress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` in squeeze's thread pool, so that the event loop stays alive."""
        outcome, shortened = await in_pool(self._run, documents, query)
        await atell(outcome, callbacks)
        outcome.settle()
        return shortened

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Copies of the documents, shortened; `query=` says for what, else what says most is kept."""
        return self.compress_documents(documents, kwargs.get("query"), kwargs.get("callbacks"))

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """`transform_documents` in squeeze's thread pool."""
        return await self.acompress_documents(documents, kwargs.get("query"), kwargs.get("callbacks"))

    def as_runnable(self, query: str | None = None) -> Runnable[Any, list[Document]]:
        """A runnable from `{"documents": [...], "query": "..."}` to the shortened documents.

        Args:
            query: a fixed question; the input is then the list of documents.
        """

        def split(given: Any) -> tuple[Sequence[Document], str | None]:
            if query is not None and not isinstance(given, dict):
                return given, query
            if not isinstance(given, dict) or "documents" not in given:
                kind = f"a dict with the keys {', '.join(map(str, given))}" if isinstance(given, dict) else type(given)
                raise InputError(
                    f"the input is {kind}; allowed: a dict with 'documents' and 'query', "
                    "or a list of documents after as_runnable(query)"
                )
            return given["documents"], given.get("query", query)

        def run(given: Any) -> list[Document]:
            return self.compress_documents(*split(given))

        async def arun(given: Any) -> list[Document]:
            return await self.acompress_documents(*split(given))

        return RunnableLambda(run, afunc=arun, name=type(self).__name__)

    def _run(self, documents: Sequence[Document], query: str | None) -> tuple[Outcome, list[Document]]:
        settings = Settings.of(self)
        outcome = settings.attempt(
            lambda: settings.compressor.compress(_passages(settings, documents), query, budget=settings.budget)
        )
        return outcome, [] if outcome.raises else _rebuilt(documents, outcome)


def _passages(settings: Settings, documents: Sequence[Document]) -> list[Passage]:
    """The documents as passages.

    Raises:
        InputError: one is no document, or its content is no text.
    """
    passages = []
    for index, document in enumerate(documents):
        if not isinstance(document, Document):
            raise InputError(f"document {index} is {type(document).__name__}; allowed: langchain_core Document")
        text = getattr(document, "page_content", None)
        if not isinstance(text, str):
            raise InputError(f"document {index} ({document.id!r}) holds {type(text).__name__}; allowed: str")
        passages.append(Passage(text, title=settings.title(document.metadata), id=str(document.id or "")))
    return passages


def _rebuilt(documents: Sequence[Document], outcome: Outcome) -> list[Document]:
    """The documents that go on: copies with what is kept of them, or with the error noted."""
    if outcome.result is None:
        return [_copy(document, outcome, None) for document in documents]
    return [_copy(documents[index], outcome, index, text) for index, text in outcome.texts().items()]


def _copy(document: Any, outcome: Outcome, index: int | None, text: str | None = None) -> Any:
    """A copy with a note in its metadata, and another text where one is given. Nothing that can change is shared."""
    if not isinstance(document, Document):
        return document  # the error that is passed through says so
    note = outcome.provenance(index, document.metadata.get(KEY))
    update: dict[str, Any] = {"metadata": {**copied(document.metadata), KEY: note}}
    return document.model_copy(update=update if text is None else {**update, "page_content": text})
