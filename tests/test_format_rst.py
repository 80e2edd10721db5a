"""reStructuredText: directives with their bodies, signatures, sections, lists, tables, literal blocks."""

from __future__ import annotations

import pytest

import squeeze
from format_tools import needed, texts
from squeeze.segment import detect, parse

PAGE = """Pumps
=====

A pump is a :class:`Machine`. It moves water.

Limits
------

.. function:: start(speed, *, force=False)

   Start the pump with the given speed.  The speed is a number of turns in a minute,
   which must not exceed the limit of the pump.

   If *force* is true, a running pump is started again::

      >>> start(40, force=True)
      'started'

   .. versionadded:: 3.7

   .. versionchanged:: 3.9
      The parameter *force* was added.

.. note:: Short notes stay whole.

* first item
* second item, which
  goes on

=====  =======
Part   Torque
=====  =======
bolt   17 Nm
nut    12 Nm
=====  =======

+------+--------+
| Part | Torque |
+======+========+
| bolt | 18 Nm  |
+------+--------+
| nut  | 13 Nm  |
+------+--------+

After the tables.
"""


def test_units_and_what_they_need() -> None:
    assert detect(PAGE) == "rst"
    units = texts(PAGE)
    assert units[:3] == ["Pumps\n=====", "A pump is a :class:`Machine`.", "It moves water."]
    assert ".. note:: Short notes stay whole." in units and "* second item, which\n  goes on" in units
    signature = ".. function:: start(speed, *, force=False)"
    assert needed(PAGE, ".. versionadded:: 3.7") == [
        "Pumps\n=====",
        "Limits\n------",
        signature,
        ".. versionadded:: 3.7",
    ]
    example = needed(PAGE, ">>> start(40")
    assert signature in example and example[-2].startswith("If *force* is true")


def test_rows_of_both_kinds_of_tables_come_with_their_header() -> None:
    simple = needed(PAGE, "nut    12 Nm")
    assert simple[-2:] == ["=====  =======\nPart   Torque\n=====  =======", "nut    12 Nm\n=====  ======="]
    grid = needed(PAGE, "| nut  | 13 Nm  |")
    assert grid[-2].startswith("+------+--------+\n| Part | Torque |\n+======")
    kinds = [piece.kind for piece in parse(PAGE).pieces]
    assert kinds.count("header") == 2 and kinds.count("row") == 4


def test_sections_are_nested_by_the_order_of_their_rulers() -> None:
    sections = [node.level for node in parse(PAGE).nodes if node.kind == "section"]
    assert sections == [1, 2]


def test_a_small_budget_shows_the_signature() -> None:
    result = squeeze.compress([PAGE], query="in which version was start added?", keep=0.25)
    assert ".. function:: start" in result.text and ".. versionadded:: 3.7" in result.text


def test_a_long_code_block_is_given_in_chunks() -> None:
    text = ".. code-block:: python\n\n" + "".join(f"   step({i})\n   again({i})\n\n" for i in range(80))
    units = texts(text)
    assert len(units) > 5 and needed(text, units[4])[0] == ".. code-block:: python"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (".. data:: tzname\n\n   Two strings.", "rst"),
        ("See :func:`open`, :class:`io.TextIOWrapper`, :ref:`files` and :pep:`8`.", "rst"),
        ("Use ``a`` and ``b`` in the text.", "plain"),
        ("They are called `` Anis '' and `` Badr '' here. " * 20, "plain"),
        ("He waited .. and waited ... for :a long time: there.", "plain"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name
