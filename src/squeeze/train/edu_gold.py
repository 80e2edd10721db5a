"""Rows of the GUM corpus with EDUs and rhetorical trees, and what they teach: cuts, and which EDU hangs on which."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

from squeeze.segment.sentences import sentence_spans

Span = tuple[int, int]

_MANY = ("joint-", "same-unit", "adversative-contrast", "restatement-repetition")  # relations between equals
_BOTH = ("attribution-", "contingency-")  # without the satellite the nucleus says something else
_BESIDE = ("organization-", "topic-")  # a heading or a greeting beside the sentence, nothing it hangs on


class Document(NamedTuple):
    """One text of the corpus.

    Attributes:
        name: its identifier.
        genre: kind of text.
        license: licence of text and annotation.
        source: repository and commit.
        url: where the text was published.
        text: the text.
        sentences: our sentences.
        edus: gold EDUs, white space behind them left out.
        starts: where gold EDUs start, the first excluded.
        needs: for each EDU the EDUs of its sentence that it cannot do without.
        sentence_of: number of the gold sentence of each EDU.
    """

    name: str
    genre: str
    license: str
    source: str
    url: str
    text: str
    sentences: list[Span]
    edus: list[Span]
    starts: set[int]
    needs: list[set[int]]
    sentence_of: list[int]


def read_documents(path: Path) -> list[Document]:
    """The documents of a `gum_edu` file.

    Raises:
        SystemExit: a row has no gold EDUs or relations.
    """
    documents = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            row = json.loads(line)
            extra = row.get("extra", {})
            if not extra.get("edus") or len(extra.get("edu_relations") or ()) != len(extra["edus"]):
                raise SystemExit(f"{path}, row {number}: no gold marks; extra.edus and extra.edu_relations are needed")
            text = row["documents"][0]["text"]
            edus = [(int(start), int(end)) for start, end in extra["edus"]]
            sentence_of = _sentence_numbers(edus, extra["sentences"])
            documents.append(
                Document(
                    row["id"],
                    extra["genre"],
                    extra["license"],
                    extra["source"],
                    extra.get("url") or "",
                    text,
                    sentence_spans(text),
                    edus,
                    {start for start, _ in edus[1:]},
                    _needs(extra, sentence_of),
                    sentence_of,
                )
            )
    return documents


def _sentence_numbers(edus: list[Span], sentences: list[list[int]]) -> list[int]:
    starts = {int(start) for start, _ in sentences}
    numbers, number = [], -1
    for start, _ in edus:
        number += start in starts or number < 0
        numbers.append(number)
    return numbers


def _needs(extra: dict[str, Any], sentence_of: list[int]) -> list[set[int]]:
    """Which EDUs of its own sentence each EDU needs, from the tree of relations."""
    heads, relations = _dependencies(extra)
    needs: list[set[int]] = [set() for _ in heads]
    for index, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        if head < 0 or sentence_of[head] != sentence_of[index]:
            continue
        equal = relation.startswith(_MANY)
        if relation == "same-unit" or not (equal or relation.startswith(_BESIDE)):
            needs[index].add(head)
        if relation == "same-unit" or relation.startswith(_BOTH):
            needs[head].add(index)
    return needs


def _dependencies(extra: dict[str, Any]) -> tuple[list[int], list[str]]:
    """For each EDU the EDU that heads what it belongs to (-1 for the root), and the relation between them."""
    parent = {node: (up, relation) for node, up, relation in extra["edu_relations"]}
    parent.update({node: (up, relation) for node, _, up, relation in extra["groups"]})
    order = [node for node, _, _ in extra["edu_relations"]]
    number = {node: index for index, node in enumerate(order)}
    kinds = {node: kind for node, kind, _, _ in extra["groups"]}
    nuclei: dict[str, list[str]] = {}
    for node, (up, relation) in parent.items():
        if up is not None and _is_nucleus(relation, kinds.get(up)):
            nuclei.setdefault(up, []).append(node)

    def first(node: str) -> int:
        """The head of a node: the leftmost of its nuclei, down to an EDU."""
        while node not in number:
            node = min(nuclei[node], key=leftmost)
        return number[node]

    def leftmost(node: str) -> int:
        return number[node] if node in number else min(map(leftmost, nuclei[node]))

    heads, relations = [], []
    for index, edu in enumerate(order):
        node, (up, relation) = edu, parent[edu]
        while up is not None and _is_nucleus(relation, kinds.get(up)) and first(up) == index:
            node = up
            up, relation = parent[node]
        heads.append(-1 if up is None else first(up))
        relations.append("" if up is None else relation)
    return heads, relations


def _is_nucleus(relation: str, kind: str | None) -> bool:
    return relation == "span" or (kind == "multinuc" and relation.startswith(_MANY))
