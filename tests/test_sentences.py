"""Sentences: where they end in ten languages, and what holds for any text."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from squeeze.segment.sentences import LONGEST, sentence_spans

# A bar stands where a sentence begins.
ENGLISH = [
    "Dr. Hall met Prof. Berg at 9 a.m. in St. Albans. |They left at dusk.",
    "Mr. and Mrs. Long came. |Ms. Gray did not.",
    "Move to v3.11.2 before 4 p.m. on Monday. |The build 1.8 is broken.",
    "Mail help.desk@example.com or open https://example.com/x.y?z=1. |Then go on.",
    "See www.example.org for more. |It is free.",
    "It weighs 2.75 kg. |Lift it.",
    "The price rose by 3.5%. |Nobody minded.",
    "Berg et al. [1999] showed it. |Others agree.",
    "Berg et al. (2001) showed it. |Others agree.",
    "It was shown before (cf. Berg et al., 2001). |Others agree.",
    "It was shown before.[12] |Others agree.[3][4] |Nobody asked.",
    "It was shown before. [12] |Others agree. [3] [4] |Nobody asked.",
    "It is so.[citation needed] |Nobody asked.",
    'She said "Wait. Listen." and sat down. |He stayed.',
    '"Wait. Listen." she said. |He stayed.',
    "“Wait!” she cried. |He stayed.",
    "“Wait.” |“Why?” |He stayed.",
    '"Are you there?" |"Yes." |He stayed.',
    "He asked ‘Why?’ and left. |She stayed.",
    "A. B. Stone sold it in the U.S. for years. |It went well.",
    "The U.S. Army left the U.K. yesterday. |It rained.",
    "They live in the U.S. |He lives in Rome.",
    "He met J. K. Stone Jr. in May. |They talked.",
    "Stone Inc. sold it. |Berg Ltd. bought it.",
    "He works at Stone Inc. |She does not.",
    "We eat fruit, e.g. apples, i.e. the red ones. |They are good.",
    "Apples, pears, etc. are fruit. |We eat them.",
    "We have apples, pears, etc. |They are good.",
    "See Fig. 3 and Sec. 2.1 on p. 14. |They explain it.",
    "No. 5 is alive. |Is it? |No. |It is not.",
    "It happened on Jan. 5. |Nobody saw it.",
    "He came on Dec. 24, 1999. |She left.",
    "Wait... what? |No!! |Yes.",
    "I thought … maybe not. |Then I knew.",
    "What?! |Really? |Yes!",
    "1. Take it. |2. Give it back.",
    "It rained (it poured. It stormed.) all day. |We slept.",
    "It rained. |(It poured.) |We slept.",
    "Yahoo! was a company. |It is gone.",
    "He used an iPhone. |iPhones are common.",
    "It ended in 1990. |Nobody was there.",
    "The war ended with World War I. |It was long.",
    "He scored vs. Rome in St. Moritz. |It was late.",
    "Ask Node.js or ASP.NET experts. |They know.",
    "Edit config.yaml and main.py. |Run it.",
    "The file ends here.|The next one begins.",
    "Gov. Stone and Sen. Berg spoke. |Nobody listened.",
    "The app crashed. |Restart the app. |The app works.",
    "It was her. |Was it him? |It was me. |Is that so?",
    "He has a Ph.D. in law. |She has none.",
    "The temperature was -3.5 °C. |It snowed.",
    "Call 555.123.4567 now. |We wait.",
    "At 10.30 the train left. |It was on time.",
    "C. elegans is a worm. |It is small.",
    "Op. 27 No. 2 is famous. |He wrote it in 1801.",
    "The talk is at 3 p.m. EST on Monday. |It moved to 10 a.m. Tuesday. |Come at 8 a.m. |Bring water.",
    "J.R.R. Stone wrote it. |He was fond of it.",
    "Plan B. |The other one.",
    "Open /etc/a.conf. |Next one. |Ping 10.0.0.1. |Next one.",
    "In 2004. |Again.",
    "He asked, “Is it?” |Then he left.",
    "I think so.|But maybe not.",
    "He (b. 1950, d. 2001) sang. |She danced.",
    "Figure 1. The old mill. |It is closed.",
]
OTHERS = [
    # German
    "Am 3. Mai kam Dr. Lang z. B. nach Ulm. |Das sind ca. 5 km.",
    "Der 2. Weltkrieg endete 1945. |Danach begann der Wiederaufbau.",
    "Er lebte im 19. Jahrhundert. |Das ist lange her.",
    "„Komm her.“ |„Nein!“ sagte sie. |Er ging.",
    "Er sagte: „Bleib. Warte.“ und ging. |Sie blieb.",
    "Wir kaufen Obst, d. h. Äpfel usw. für den Winter. |Das reicht.",
    "Die Fa. Lang GmbH zahlt lt. Vertrag. |Der Rest folgt.",
    "Siehe Abb. 3 und Nr. 7. |Dort steht es.",
    "Es kostet 1.250,50 Euro. |Das ist viel.",
    "Die Hauptstr. 7 liegt dort. |Er wohnt da.",
    "§ 5 Abs. 2 S. 1 Nr. 3 gilt. |Vgl. Art. 3.",
    # French
    "M. Petit est venu. |Mme Roux est partie.",
    "« Viens ! » dit-il. |Est-ce vrai ? |Oui.",
    "Il vit av. J.-C. selon les sources. |C'est ancien.",
    "Voir p. 12 et fig. 3. |Tout y est.",
    "Le train part à 10 h. |Nous attendons.",
    # Spanish
    "El Sr. Ruiz vino. |¿Dónde está? |¡Aquí!",
    "La Dra. Gil vive en EE. UU. desde 1990. |Es médica.",
    "«Ven.» |Nadie contestó.",
    "Véase la pág. 4. |Allí está.",
    # Chinese
    "天黑了。|我们回家吧！|好吗？|好。",
    "他说“停。不要走。”|然后走了。|天黑了。",
    "价格是3.5元。|很便宜。",
    "他说：“你好！”，然后走了。|天黑了。",
    "“真的吗？”他问。|“是的！”她说。",
    # Japanese
    "装置は止まった。|弁は閉じている。",
    "彼は「待って。」と言った。|雨が降る。",
    "彼は「待って。行かないで。」と言った。|雨が降る。",
    "本当ですか？|はい！|そうです。",
    "「行こう。」\n|「いや。」\n|彼は黙った。",
    "値段は3.5万円です。|安いです。",
    "『本。』を読む。|10時30分。|3.14です。",
    "「行こう。」彼は言った。|雨が降る。",
    # Korean
    '그는 "가자." 하고 말했다. |비가 온다.',
    "문이 닫혔다. |펌프가 멈췄다.",
    "정말이에요? |네. |그래요!",
    "그는 “기다려.”라고 말했다. |비가 온다.",
    "값은 3.5달러이다. |싸다.",
    # Arabic
    "هل وصل القطار؟ |نعم، وصل.",
    "قال د. سليم إن السعر 3.5 دينار. |غادر بعد ذلك.",
    "وصل القطار؛ ثم غادر. |انتهى اليوم!",
    # Hindi
    "यह पहला है। |यह दूसरा है।",
    "क्या यह सच है? |हाँ! |यह सच है।",
    "डॉ. राव आए।|वे चले गए।",
    "कीमत 3.5 रुपये है। |यह सस्ता है।",
    # Russian
    "В 2001 г. умер А. С. Белов. |Он жил в Москве.",
    "Он сказал: «Стой. Жди.» и ушёл. |Она осталась.",
    "Он живёт на ул. Садовой, д. 5. |См. рис. 3.",
    "«Стой!» — сказал он. |Она стоит.",
    # Greek, Armenian, Burmese, Amharic
    "Πού είναι; Εδώ. |Καλά.",
    "Սա առաջինն է։ |Սա երկրորդն է։",
    "ဒါပထမပါ။ |ဒါဒုတိယပါ။",
    "ይህ አንደኛ ነው። |ይህ ሁለተኛ ነው።",
]
LINES = [
    "A title without a stop\n|The text begins here. |It goes on.",
    "First paragraph\n\n|second paragraph",
    "milk\n|eggs\n|bread",
    "Ann: Good morning.\n|Bob: Good morning, how are you\n|Ann: Fine.",
    "Buy these:\n|- milk\n|- eggs",
    "A line that was torn in the middle of a\nsentence by somebody. |Another one.",
    "The first line of this text was wrapped at about sixty columns,\n"
    "so the sentence goes on here. |A second one begins in the middle\n"
    "of a line and nobody minds.",
    "One.\r\n|Two.\r\n\r\n|Three.",
    "One.\u2028|Two.\u2029|Three.",
    "\n\n  One. |Two.  \n\n",
]


@pytest.mark.parametrize("marked", [*ENGLISH, *OTHERS, *LINES])
def test_ends(marked: str) -> None:
    expected = marked.split("|")
    text = "".join(expected)
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


def test_thai_is_cut_at_spaces_only_when_long() -> None:
    assert len(sentence_spans("วันนี้ฝนตก พรุ่งนี้แดดออก")) == 1
    long = "วันนี้ฝนตกหนักมากในกรุงเทพมหานครและปริมณฑลตลอดทั้งวันทั้งคืน " * 4
    assert len(sentence_spans(long)) == 4


def test_wrapped_prose_is_joined() -> None:
    text = (
        "The old mill by the river had been closed for more than ten\n"
        "years when the two brothers bought it. They repaired the wheel\n"
        "and the roof, and in the spring of the next year the first flour\n"
        "left the yard. Nobody had believed that it would.\n"
    )
    assert len(sentence_spans(text)) == 3


def test_too_long_is_cut_at_a_space() -> None:
    text = "word " * 2000
    spans = sentence_spans(text)
    assert len(spans) > 3
    assert all(end - start <= LONGEST for start, end in spans)
    assert all(text[start].isalpha() for start, _ in spans)


@pytest.mark.parametrize("character", ["a", " ", "\n", "."])
def test_nothing_to_cut_at_stays_whole(character: str) -> None:
    assert sentence_spans(character * 10_000) == [(0, 10_000)]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t \u3000", "\ud800", "a\u3000. b。\u3000c", "\x00. A", "\ufeff"])
def test_odd_texts_tile(text: str) -> None:
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) <= max(1, len(text) // 2) if text else spans == []


ALPHABET = st.sampled_from(
    list("abcAB1. .!?…\"'“”„«»()[]{}:;,-–—•*#>|\n\r")
    + list("\t\u2028\u3000\u200d\u0301\ufe0f。！？」「、।؟\ud800\x00")
    + [
        "Dr.",
        "U.S.",
        " et al.",
        "e.g.",
        "[1]",
        "🇩🇪",
        "👍🏽",
        "가",
        "각",
        "ก ",
        "नि",
        "\r\n",
        "The ",
        "http://a.b",
        ". ",
    ]
)


@given(st.one_of(st.text(), st.lists(ALPHABET, max_size=60).map("".join)))
def test_tiles_any_text_and_cuts_no_cluster(text: str) -> None:
    spans = sentence_spans(text)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])][: len(spans)]
    assert not text or spans[-1][1] == len(text)
    assert all(start < end for start, end in spans)
    edges = {0} | {match.end() for match in regex.finditer(r"\X", text)}
    assert all(start in edges for start, _ in spans)


SIMPLE = st.sampled_from(["One rains.", "Is it two?", "Three!", "It was 4.", "Five (or six) came."])


@given(st.lists(SIMPLE, min_size=1))
def test_simple_sentences_are_found(sentences: list[str]) -> None:
    assert len(sentence_spans(" ".join(sentences))) == len(sentences)
