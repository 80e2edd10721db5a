from __future__ import annotations

from typing import Any

import pytest
from llama_helpers import QUERY, TEXTS, nodes
from llama_index.core.schema import (
    Document,
    ImageNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
)

import squeeze
from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze import SqueezeError
from squeeze.errors import ConfigError, InputError, UnknownMethodError


def rendered(items: list[NodeWithScore]) -> int:
    text = "\n\n".join(item.node.get_content(metadata_mode=MetadataMode.LLM) for item in items)
    return squeeze.load("edu").count(text)


@pytest.mark.parametrize("limits", [{"max_tokens": limit} for limit in (0, 5, 20, 33, 47, 60, 90)] + [{"keep": 0.5}])
def test_the_budget_holds_on_the_rendered_nodes_when_asked(limits: dict[str, Any]) -> None:
    given = nodes(metadata={"file_path": "manuals/2024/valves-and-pumps.md", "page": 12})
    given.append(NodeWithScore(node=Document(text="A valve has a stem. " * 4, metadata={"author": "unknown"})))
    asked = SqueezePostprocessor(budget_includes_metadata=True, **limits)
    limit = limits.get("max_tokens", int(0.5 * rendered(given)) + 1)
    out = asked.postprocess_nodes(given, query_str=QUERY)
    assert rendered(out) <= limit
    if limit > 40:
        assert len(out) > 0 and all(item.node.get_content() for item in out)


def test_the_rendered_budget_counts_nodes_that_pass_through() -> None:
    given = [*nodes(), NodeWithScore(node=ImageNode(image_url="https://example.org/a.png", text="A caption of words."))]
    out = SqueezePostprocessor(max_tokens=20, budget_includes_metadata=True).postprocess_nodes(given, query_str=QUERY)
    assert rendered(out) <= 20 and any(isinstance(item.node, ImageNode) for item in out)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"method": "edo"}, UnknownMethodError, "Did you mean 'edu'"),
        ({"method": 5}, ConfigError, "method is 5"),
        ({"keep": 1.5}, ConfigError, "keep is 1.5"),
        ({"max_tokens": -1}, ConfigError, "max_tokens is -1"),
        ({"max_tokens": "many"}, ConfigError, "max_tokens is 'many'"),
        ({"max_token": 5}, ConfigError, "Did you mean 'max_tokens'"),
        ({"options": {"unitt": "edu"}}, ConfigError, "Did you mean 'unit'"),
        ({"options": {"unit": "word"}}, ConfigError, "unit is 'word'"),
        ({"options": 3}, ConfigError, "options is 3"),
        ({"on_error": "ignore"}, ConfigError, "on_error is 'ignore'"),
        ({"title_key": 3}, ConfigError, "title_key is 3"),
        ({"drop_empty": "no"}, ConfigError, "drop_empty is 'no'"),
        ({"tokenizer": "cl200k"}, ConfigError, "unknown tokenizer 'cl200k'"),
        ({"budget_includes_metadata": True, "drop_empty": False}, ConfigError, "drop_empty=False"),
    ],
)
def test_wrong_settings_are_refused_at_construction(
    settings: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        SqueezePostprocessor(**settings)
    assert isinstance(caught.value, SqueezeError)


def test_a_method_whose_result_is_not_text_is_refused_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    from squeeze.compressors.edu import Edu

    monkeypatch.setattr(Edu, "output", "soft")
    with pytest.raises(ConfigError, match="no text to put into a prompt"):
        SqueezePostprocessor()


def test_bad_nodes_raise_a_clear_error_and_are_not_touched() -> None:
    stage = SqueezePostprocessor(keep=0.5)
    with pytest.raises(InputError, match="node 1 is str; allowed: NodeWithScore"):
        stage.postprocess_nodes([*nodes(TEXTS[:1]), "text"], query_str=QUERY)  # type: ignore[list-item]
    empty = Document(id_="void")
    with pytest.raises(InputError, match=r"'void'.*without text"):
        stage.postprocess_nodes([NodeWithScore(node=empty)], query_str=QUERY)
    wrong = nodes(["a"])[0].node.model_copy(update={"text": 5, "id_": "w"})
    given = [*nodes(), NodeWithScore(node=wrong)]
    before = [item.node.metadata for item in given]
    with pytest.raises(InputError, match=r"'w'.*int; allowed: str"):
        stage.postprocess_nodes(given, query_str=QUERY)
    assert [item.node.metadata for item in given] == before and wrong.text == 5
    with pytest.raises(ValueError, match="both"):
        stage.postprocess_nodes(nodes(), query_bundle=QueryBundle(QUERY), query_str=QUERY)
