from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableLambda

import squeeze
from langchain_squeeze import EVENT, SqueezeCompressor
from squeeze import SqueezeError
from squeeze.errors import ConfigError, InputError, UnknownMethodError

TEXTS = [
    "The valve opens at 40 degrees. Paint is blue. The crate weighs 9 kg. Lunch is at noon.",
    "The pump needs oil every week. The hall is swept on Fridays. A second pump stands in the yard.",
    "Nobody has seen the key of the boiler room. It hung beside the valve.",
]
QUERY = "When does the valve open?"


def documents(texts: list[str] = TEXTS, **metadata: Any) -> list[Document]:
    return [
        Document(page_content=text, id=f"d{index}", metadata=copy.deepcopy(metadata))
        for index, text in enumerate(texts)
    ]


def failing(texts: list[str], query: str) -> list[float]:
    raise RuntimeError("the scorer fell over")


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.seen.append((name, data))


class AsyncListener(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.seen.append((name, data))


def test_it_is_a_compressor_and_a_transformer() -> None:
    assert isinstance(SqueezeCompressor(), BaseDocumentCompressor)
    assert isinstance(SqueezeCompressor(), BaseDocumentTransformer)


@pytest.mark.parametrize("method", ["edu", "passages", "truncate"])
@pytest.mark.parametrize("limits", [{"keep": 0.4}, {"max_tokens": 18}, {"max_tokens": 30, "keep": 0.9}, {}])
def test_the_same_text_is_kept_as_by_squeeze_itself(method: str, limits: dict[str, Any]) -> None:
    result = squeeze.compress(TEXTS, QUERY, method=method, **limits)
    stage = SqueezeCompressor(method=method, **limits)
    for out in (
        stage.compress_documents(documents(), QUERY),
        asyncio.run(stage.acompress_documents(documents(), QUERY)),
        stage.transform_documents(documents(), query=QUERY),
        asyncio.run(stage.atransform_documents(documents(), query=QUERY)),
        stage.as_runnable().invoke({"documents": documents(), "query": QUERY}),
        asyncio.run(stage.as_runnable(QUERY).ainvoke(documents())),
    ):
        assert "\n\n".join(document.page_content for document in out) == result.text
        for document in out:
            index = int(str(document.id)[1:])
            assert document.metadata["squeeze"]["spans"] == [list(span) for span in result.spans(index)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet=st.sampled_from("abc. \n|#-é"), max_size=60), max_size=5), st.integers(0, 40))
def test_budget_and_text_on_any_text(texts: list[str], limit: int) -> None:
    result = squeeze.compress(texts, "abc", max_tokens=limit)
    out = SqueezeCompressor(max_tokens=limit).compress_documents(documents(texts), "abc")
    assert [document.page_content for document in out] == list(result.texts().values())


def test_options_are_handed_on_and_no_query_keeps_what_says_most() -> None:
    options = {"unit": "edu", "gap": "", "min_score": 0.1}
    for query in (QUERY, None, " "):
        result = squeeze.compress(TEXTS, query, keep=0.4, **options)
        out = SqueezeCompressor(keep=0.4, options=options).transform_documents(documents(), query=query)
        assert [document.page_content for document in out] == list(result.texts().values())


class Sheet(Document):
    """A kind of document that an application brings."""

    page: int = 0


def test_ids_subclasses_and_nested_metadata_stay_and_are_not_shared() -> None:
    given = [Sheet(page_content=TEXTS[0], id="s", page=7, metadata={"tags": ["x"], "deep": {"k": [1]}})]
    before = copy.deepcopy(given)
    (out,) = SqueezeCompressor(keep=0.4).compress_documents(given, QUERY)
    assert type(out) is Sheet and out.page == 7 and out.id == "s" and out.page_content != TEXTS[0]
    out.metadata["tags"].append("y")
    out.metadata["deep"]["k"].append(2)
    assert given == before


def test_results_are_plain_and_carry_their_provenance() -> None:
    (out,) = SqueezeCompressor(keep=0.3).compress_documents(documents(TEXTS[:1], source="a.md"), QUERY)
    assert type(out) is Document and pickle.loads(pickle.dumps(out)) == out
    note = json.loads(json.dumps(out.metadata))["squeeze"]
    assert [TEXTS[0][start:end] for start, end in note["spans"]] == [out.page_content]
    assert note["method"] == "edu" and 0 < note["kept"] < 1 and out.metadata["source"] == "a.md"


def test_emptied_documents_go_or_stay() -> None:
    query = "The valve opens at 40 degrees"
    gone = SqueezeCompressor(max_tokens=10).compress_documents(documents(), query)
    assert [document.id for document in gone] == ["d0"]
    kept = SqueezeCompressor(max_tokens=10, drop_empty=False).compress_documents(documents(), query)
    assert [document.page_content for document in kept] == [gone[0].page_content, "", ""]
    assert SqueezeCompressor(max_tokens=9).compress_documents([], query) == []


def test_titles_are_used_for_scoring() -> None:
    texts = ["It opens at noon. It has a red lid.", "It closes at noon. It has a green lid."]
    given = [Document(page_content=text, metadata={"name": name}) for text, name in zip(texts, "AB", strict=True)]
    passages = [squeeze.Passage(text, title=name) for text, name in zip(texts, "AB", strict=True)]
    for query in ("What colour has the lid of A?", "What colour has the lid of B?"):
        result = squeeze.compress(passages, query, keep=0.4)
        out = SqueezeCompressor(keep=0.4, title_key="name").compress_documents(given, query)
        assert [document.page_content for document in out] == list(result.texts().values())


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"method": "edo"}, UnknownMethodError, "Did you mean 'edu'"),
        ({"keep": -0.1}, ConfigError, "keep is -0.1"),
        ({"max_tokens": True}, ConfigError, "max_tokens is True"),
        ({"ratio": 0.5}, ConfigError, "there is no setting 'ratio'"),
        ({"options": {"unitt": "edu"}}, ConfigError, "Did you mean 'unit'"),
        ({"on_error": None}, ConfigError, "on_error is None"),
    ],
)
def test_wrong_settings_are_refused_at_construction(settings: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        SqueezeCompressor(**settings)
    assert isinstance(caught.value, SqueezeError)


def test_a_method_whose_result_is_not_text_is_refused_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    from squeeze.compressors.edu import Edu

    monkeypatch.setattr(Edu, "output", "soft")
    with pytest.raises(ConfigError, match="no text to put into a prompt"):
        SqueezeCompressor()


def test_bad_documents_raise_a_clear_error() -> None:
    stage = SqueezeCompressor(keep=0.5)
    with pytest.raises(InputError, match="document 1 is str; allowed: langchain_core Document"):
        stage.compress_documents([*documents(TEXTS[:1]), "text"], QUERY)  # type: ignore[list-item]
    odd = Document.model_construct(page_content=5, id="odd", metadata={})
    with pytest.raises(InputError, match=r"document 0 \('odd'\) holds int; allowed: str"):
        stage.compress_documents([odd], QUERY)
    with pytest.raises(InputError, match="query is int"):
        stage.compress_documents(documents(), 5)  # type: ignore[arg-type]
    for wrong in ({"docs": documents()}, documents()):
        with pytest.raises(InputError, match="allowed: a dict with 'documents' and 'query'"):
            stage.as_runnable().invoke(wrong)


def test_passing_through_tells_the_error_in_metadata_and_event() -> None:
    given, listener = documents(source="a.md"), Listener()
    stage = SqueezeCompressor(keep=0.3, on_error="passthrough", options={"scorer": failing})
    out = stage.as_runnable(QUERY).invoke(given, config={"callbacks": [listener]})
    assert [document.page_content for document in out] == TEXTS
    note = {"method": "edu", "error": "RuntimeError: the scorer fell over"}
    assert all(document.metadata == {"source": "a.md", "squeeze": note} for document in out)
    assert given == documents(source="a.md")
    ((name, data),) = listener.seen
    assert name == EVENT and data["error"] == note["error"] and data["on_error"] == "passthrough"


def test_the_event_is_silent_without_a_run_and_visible_within_one() -> None:
    stage = SqueezeCompressor(keep=0.3)
    lone = Listener()
    assert stage.compress_documents(documents(), QUERY, callbacks=[lone]) and not lone.seen
    assert asyncio.run(stage.acompress_documents(documents(), QUERY, callbacks=[lone])) and not lone.seen
    sync, both, other = Listener(), Listener(), AsyncListener()
    RunnableLambda(lambda given: stage.compress_documents(given, QUERY)).invoke(documents(), {"callbacks": [sync]})

    async def inside(given: list[Document]) -> list[Document]:
        return await stage.acompress_documents(given, QUERY)

    asyncio.run(RunnableLambda(inside).ainvoke(documents(), {"callbacks": [both, other]}))
    for seen in (sync.seen, both.seen, other.seen):
        ((name, data),) = seen
        assert name == "squeeze.compress" and data["tokens_after"] < data["tokens_before"] and data["error"] is None
        json.dumps(data)


def test_a_failure_is_visible_in_the_event() -> None:
    listener, stage = Listener(), SqueezeCompressor(keep=0.3, options={"scorer": failing})
    with pytest.raises(RuntimeError, match="fell over"):
        stage.as_runnable(QUERY).invoke(documents(), config={"callbacks": [listener]})
    ((_, data),) = listener.seen
    assert data["error"] == "RuntimeError: the scorer fell over"


def test_saved_forms_give_the_same_stage() -> None:
    stage = SqueezeCompressor(method="passages", max_tokens=20, options={"gap": "[..]"}, title_key="name")
    expected = stage.compress_documents(documents(), QUERY)
    saved = json.loads(stage.model_dump_json())
    for twin in (
        SqueezeCompressor(**saved),
        SqueezeCompressor.model_validate(saved),
        pickle.loads(pickle.dumps(stage)),
        copy.deepcopy(stage),
    ):
        assert twin == stage and twin.compress_documents(documents(), QUERY) == expected
    assert stage.model_copy(update={"max_tokens": 0}).compress_documents(documents(), QUERY) == []


def test_a_lossless_dictionary_reaches_the_prompt() -> None:
    if "lossless" not in squeeze.available():
        pytest.skip("no lossless method")
    line = "INFO station Skerryvore lens rotates at nine revolutions per minute on mercury bath number "
    texts = ["\n".join(line + str(i) for i in range(9)), "\n".join(line + str(i) for i in range(9, 15)), "Short."]
    result = squeeze.compress(texts, method="lossless")
    out = SqueezeCompressor(method="lossless").transform_documents(documents(texts))
    assert "\n\n".join(document.page_content for document in out) == result.text != "\n\n".join(texts)


def test_thirty_two_asynchronous_calls_give_the_sequential_results() -> None:
    stage = SqueezeCompressor(keep=0.4)
    queries = [f"{word} {number}?" for number in range(8) for word in ("valve", "pump", "boiler", "oil")]

    async def main() -> list[list[Document]]:
        return list(await asyncio.gather(*(stage.acompress_documents(documents(), query) for query in queries)))

    assert asyncio.run(main()) == [stage.compress_documents(documents(), query) for query in queries]
