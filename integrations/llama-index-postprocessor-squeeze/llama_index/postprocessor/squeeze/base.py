"""The postprocessor: nodes become passages, squeeze shortens them, and copies of the nodes carry what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, ImageNode, MetadataMode, Node, NodeWithScore, QueryBundle, TextNode

from llama_index.postprocessor.squeeze.events import announced, dispatcher
from squeeze.adapting import KEY, Outcome, Settings, copied
from squeeze.errors import ConfigError, InputError
from squeeze.pool import in_pool
from squeeze.render import JOINER
from squeeze.types import Compressed, Passage


class SqueezePostprocessor(BaseNodePostprocessor):
    """Shortens the retrieved nodes under one token budget; ids, scores, relationships and metadata stay with them.

    The retriever's own nodes are never changed: the result holds copies. What became of each stands in its metadata
    under `squeeze` (kept spans, kept share), which neither the language model nor the embedding model is shown.
    `ImageNode`s, and documents that hold only media, pass through as they are.

    Raises:
        SqueezeError: when it is made, if a setting is unknown or not allowed, or if the method's result is not text.
    """

    method: str = Field(default="edu", description="Name of a squeeze method whose result is text.")
    max_tokens: int | None = Field(default=None, description="Tokens that all nodes together may have.")
    keep: float | None = Field(default=None, description="Share of the tokens that may be kept, 0 to 1.")
    tokenizer: Any = Field(default="estimate", description="What counts tokens.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the method.")
    on_error: str = Field(default="raise", description="raise, or passthrough: the nodes go on with the error noted.")
    title_key: str | None = Field(default=None, description="Metadata key that holds a node's title.")
    drop_empty: bool = Field(default=True, description="Whether nodes of which nothing is kept are left out.")
    budget_includes_metadata: bool = Field(
        default=False, description="Whether the limits hold for the nodes as the prompt shows them, metadata included."
    )

    def __init__(self, **data: Any) -> None:
        """Takes the fields as keyword arguments."""
        Settings.check(data, type(self).model_fields)
        super().__init__(**data)
        if self.budget_includes_metadata and not self.drop_empty:
            raise ConfigError(
                "budget_includes_metadata=True with drop_empty=False: the metadata of emptied nodes would be printed "
                "whatever the budget; leave one of them at its default"
            )

    @classmethod
    def class_name(cls) -> str:
        """The name that serialised forms and traces know the class by."""
        return "SqueezePostprocessor"

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling, refused where the base class would silently drop a setting that does not pickle."""
        whole = dict(vars(self))
        state: dict[str, Any] = super().__getstate__()
        state["__dict__"] = dict(state["__dict__"])
        self.__dict__.update(whole)  # the base class drops from the living object, too
        lost = sorted(whole.keys() - state["__dict__"].keys() - {"callback_manager"})
        if lost:
            raise ConfigError(f"{', '.join(lost)} cannot be pickled; give values that can, such as names")
        return state

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = query_bundle.query_str if query_bundle is not None else None
        with announced(self.callback_manager, nodes, query, self.method) as call:
            return call.end(*self._run(nodes, query))

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = query_bundle.query_str if query_bundle is not None else None
        with announced(self.callback_manager, nodes, query, self.method) as call:
            return call.end(*await in_pool(self._run, nodes, query))

    def _run(self, nodes: Sequence[NodeWithScore], query: str | None) -> tuple[Outcome, list[NodeWithScore]]:
        settings = Settings.of(self)
        outcome = settings.attempt(lambda: self._compress(settings, nodes, query))
        return outcome, [] if outcome.raises else _rebuilt(nodes, outcome)

    def _compress(self, settings: Settings, nodes: Sequence[NodeWithScore], query: str | None) -> Compressed:
        """The shortened passages; where the budget is the prompt's, it is held on what the prompt will show.

        Overheads are counted passage by passage, and counts do not quite add up, so the whole is counted at the end.
        """
        compressor = settings.compressor
        texts = [_text(index, item) for index, item in enumerate(nodes) if not _passes(item)]
        charged = self.budget_includes_metadata
        passages = [
            Passage(
                text,
                title=settings.title(node.metadata),
                id=node.node_id,
                overhead=max(0, compressor.count(_shown(node)) - compressor.count(text)) if charged else 0,
            )
            for node, text in texts
        ]
        result = compressor.compress(passages, query, budget=settings.budget)
        limit = settings.budget.limit(result.tokens_before)
        if not charged or limit is None:
            return result
        allowed = limit
        while allowed and (excess := compressor.count(_prompt(nodes, Outcome(settings, result))) - limit) > 0:
            allowed = max(0, allowed - excess)
            result = compressor.compress(passages, query, budget=allowed)
        return result


def _passes(item: Any) -> bool:
    """Whether a node goes on as it is, for lack of text to shorten: an image, or a document that holds only media."""
    node = getattr(item, "node", None)
    if not isinstance(node, Node):
        return isinstance(node, ImageNode)
    media = (node.image_resource, node.audio_resource, node.video_resource)
    return not _has_text(node) and any(resource is not None for resource in media)


def _has_text(node: Node) -> bool:
    return node.text_resource is not None and node.text_resource.text is not None


def _text(index: int, item: Any) -> tuple[BaseNode, str]:
    """A node and its text, metadata left out.

    Raises:
        InputError: it is no node, or holds no text.
    """
    if not isinstance(item, NodeWithScore):
        raise InputError(f"node {index} is {type(item).__name__}; allowed: NodeWithScore")
    node = item.node
    if isinstance(node, Node) and not _has_text(node):
        raise InputError(
            f"node {index} ({node.node_id!r}) is a {node.class_name()} without text; give it one, or drop it"
        )
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    if not isinstance(text, str):
        raise InputError(f"node {index} ({node.node_id!r}) holds {type(text).__name__}; allowed: str")
    return node, text


def _shown(node: BaseNode) -> str:
    return str(node.get_content(metadata_mode=MetadataMode.LLM))


def _prompt(nodes: Sequence[NodeWithScore], outcome: Outcome) -> str:
    """The nodes as a response synthesizer puts them into a prompt."""
    return JOINER.join(_shown(item.node) for item in _rebuilt(nodes, outcome))


def _rebuilt(nodes: Sequence[NodeWithScore], outcome: Outcome) -> list[NodeWithScore]:
    """The nodes that go on: copies with what is kept of them, or with the error noted."""
    texts, out, index = outcome.texts(), list[NodeWithScore](), 0
    for item in nodes:
        if _passes(item) or not isinstance(item, NodeWithScore):
            out.append(item)
            continue
        if outcome.result is None:
            out.append(_copy(item, outcome.provenance(None, item.node.metadata.get(KEY))))
        elif index in texts:
            out.append(_copy(item, outcome.provenance(index, item.node.metadata.get(KEY)), texts[index]))
        index += 1
    return out


def _copy(item: NodeWithScore, note: dict[str, Any], text: str | None = None) -> NodeWithScore:
    """A copy with a note in its metadata, and another text where one is given. Nothing that can change is shared."""
    node = item.node
    update: dict[str, Any] = {
        "metadata": {**copied(node.metadata), KEY: note},
        "excluded_llm_metadata_keys": [*dict.fromkeys([*node.excluded_llm_metadata_keys, KEY])],
        "excluded_embed_metadata_keys": [*dict.fromkeys([*node.excluded_embed_metadata_keys, KEY])],
        "relationships": {kind: _related(info) for kind, info in node.relationships.items()},
    }
    if text is None or text == node.get_content(metadata_mode=MetadataMode.NONE):
        return item.model_copy(update={"node": node.model_copy(update=update)})
    update["embedding"] = None  # like the offsets, it describes the whole text
    if isinstance(node, TextNode):
        update |= {"text": text, "start_char_idx": None, "end_char_idx": None}
    elif isinstance(node, Node) and node.text_resource is not None:
        stale = {"embeddings": None, "data": None}
        update["text_resource"] = node.text_resource.model_copy(update={"text": text, **stale})
    copy = node.model_copy(update=update)
    if not isinstance(node, TextNode | Node):
        copy.set_content(text)
    return item.model_copy(update={"node": copy})


def _related(info: Any) -> Any:
    if isinstance(info, list):
        return [_related(one) for one in info]
    return info.model_copy(update={"metadata": copied(info.metadata)})
