"""Places where a sentence falls into clauses, by punctuation and connectives, for each language that has rules.

The rules are conservative: a cut that is missed costs a few tokens, a wrong one tears a phrase apart. Every pattern
starts at one character of a small set and reads white space one character at a time or behind a mark, so that the
time is linear in the text whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

from squeeze.segment.graphemes import is_break

_SAMPLE = 4000  # characters that decide the language
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"\w+")

# The most frequent function words; shared ones ("de", "la") count for each of their languages.
_STOP = {
    "en": "the of and to in is was that for it as with on by are be this from at or have has had were which you not",
    "de": "der die das und ist nicht ein eine zu mit den von im dem des auf für sich auch als wird es an bei sind",
    "fr": "le la les des et est une un dans du en que qui pour pas sur au par plus avec il ce ne se sont été aux cette",
    "es": "el la los las de y que en un una es por con para del se no al su lo como más fue pero sus ha este son",
    "it": "il la di che e un una per non è con del della dei le gli nel sono da si alla anche come più dal ha",
    "pt": "o a os as de e que em um uma do da não para com é por no na se dos das ao como mais foi são pelo",
    "nl": "de het een en van is niet dat op te in met zijn voor die er aan om ook als bij was door naar uit",
}
_STOP_SETS = {language: frozenset(words.split()) for language, words in _STOP.items()}

# Scripts that name the language by themselves; kana is asked before Han because Japanese uses both.
_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u30fa]")),
    ("zh", re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("ar", re.compile(r"[\u0620-\u064a\u0671-\u06d3]")),
    ("hi", re.compile(r"[\u0904-\u0939\u0958-\u0961]")),
    ("th", re.compile(r"[\u0e01-\u0e2e]")),
    ("ru", re.compile(r"[\u0410-\u044f\u0401\u0451]")),
)

# Words that open a clause: after a comma, and (the second line) without one.
_AFTER_COMMA = {
    "en": "and but or so yet nor because although though while whereas when whenever where if unless until since after "
    "before as which who whom whose that then however therefore thus hence despite including",
    "de": "und aber oder denn sondern doch weil da obwohl obgleich während wenn als nachdem bevor ehe bis seit sobald "
    "solange falls sofern damit dass daß ob indem sodass wobei wodurch weshalb worauf wo die der das den dem deren "
    "dessen denen welche welcher welches um ohne anstatt statt jedoch",
    "fr": "et mais ou car donc or puis parce puisque quand lorsque si comme bien quoique tandis alors afin pour avant "
    "après sans dont où qui que laquelle lequel lesquels lesquelles cependant toutefois pourtant",
    "es": "y e pero o u sino porque pues aunque mientras cuando si como donde para antes después sin que quien quienes "
    "cuyo cuya cual cuales sin lo por así ya",
    "it": "e ed ma o oppure perché poiché anche mentre quando se come dove affinché prima dopo senza che cui quale "
    "quali quindi però tuttavia",
    "pt": "e mas ou porque pois embora enquanto quando se como onde para antes depois sem que quem cujo cuja qual "
    "quais portanto porém",
    "nl": "en maar of want dus omdat doordat hoewel terwijl toen wanneer als indien voordat nadat totdat zodat zodra "
    "die dat wie waar waarbij waarin waardoor om zonder",
    "ru": "и но а или что чтобы если когда пока хотя потому так который которая которое которые которого которой "
    "которых которым которую где куда откуда как поскольку однако причём причем либо",
    "ar": "و ولكن لكن لأن لأنه لأنها حيث بينما عندما إذا إذ ثم كما التي الذي الذين بل أو وقد وكان وكانت مما حتى رغم",
    "hi": "और लेकिन परन्तु परंतु किन्तु किंतु पर मगर क्योंकि जब जबकि तब तो कि जो जिस जिसे जिसमें जिसके जिसकी जिससे "
    "जिन जिनके या अगर यदि इसलिए ताकि तथा एवं जहाँ जहां",
}
_ALONE = {
    "en": "because although though whereas unless whenever",
    "de": "",
    "fr": "parce puisque lorsque tandis quoique afin",
    "es": "porque aunque mientras",
    "it": "perché poiché affinché",
    "pt": "porque embora enquanto",
    "nl": "omdat doordat hoewel terwijl zodat",
    "ru": "",
    "ar": "لأن لأنه لأنها بينما عندما حيث لكن ولكن",
    "hi": "क्योंकि लेकिन परन्तु परंतु किन्तु किंतु जबकि ताकि इसलिए",
}
# Korean marks clauses by verb endings, Japanese by endings before its comma, Thai by spaces before connectives.
_KO_END = "지만|는데|은데|면서|므로|니까|려고|도록|거나|아서|어서|여서|해서|자마자|더니"
_KO_COMMA_END = "고|며|면|나|자|서|되"
_JA_END = "が|ので|から|けど|けれど|けれども|て|で|し|ば|たら|なら|ため|ために|のに|ながら|つつ|ものの|り|ず|く|おり|と"
_TH_OPEN = (
    "แต่|และ|เพราะ|ซึ่ง|เมื่อ|โดย|ถ้า|หาก|จึง|เนื่องจาก|ดังนั้น|แม้|ขณะที่|ในขณะที่|หรือ|เพื่อ|หลังจาก|ก่อนที่|จนกระทั่ง|ส่วน|อย่างไรก็ตาม|ทั้งนี้"
)
_ZH_OPEN = (
    "但|而|并|且|因|所以|如果|虽|即使|尽管|当|然后|于是|以及|或|从而|同时|不过|由于|后来|则|這|这|其|他|她|它"
    "|並|雖|儘管|當|然後|於是|從而|同時|不過|後來|則"
)

_WORD_END = r"(?![\w\u0900-\u0963])"  # vowel signs are no \w
_MARK_THEN_SPACE = r"[;:؛—–](?=\s)"
_BRACKETED = r"\s(?=\([^()\n]{16,400}\))|\)(?=[,;:]?\s)"
_MIN_CHARS = {"zh": 6, "ja": 6, "th": 10, "ko": 6}


# Words that open a clause which hangs on another: anywhere, and (the second table) only inside a sentence.
_HANGS = {
    "de": "weil obwohl obgleich während wenn als nachdem bevor ehe bis seit sobald solange falls sofern damit indem um "
    "ohne anstatt",
    "fr": "parce puisque quand lorsque lorsqu' si s'il comme quoique quoiqu' tandis afin pour avant après sans",
    "es": "porque aunque mientras cuando si como para antes después sin",
    "it": "perché poiché mentre quando se come affinché prima dopo senza",
    "pt": "porque embora enquanto quando se como para antes depois sem",
    "nl": "omdat doordat hoewel terwijl toen wanneer als indien voordat nadat totdat zodra om zonder",
    "ru": "если когда пока хотя чтобы поскольку",
    "ar": "لأن لأنه لأنها بينما عندما إذا رغم",
    "hi": "क्योंकि जब जबकि अगर यदि ताकि",
    "zh": "因为 由于 虽然 如果 即使 尽管 当 因為 由於 雖然 儘管 當",
    "th": "เพราะ เมื่อ ถ้า หาก เนื่องจาก แม้ ขณะที่ ในขณะที่ หลังจาก ก่อนที่ เพื่อ",
}
_HANGS_INSIDE = {
    "de": "da dass daß ob sodass wobei wodurch weshalb worauf wo die der das den dem deren dessen denen welche welcher "
    "welches sondern denn",
    "fr": "dont où qui que qu' laquelle lequel lesquels lesquelles car",
    "es": "que quien quienes cuyo cuya cual donde pues sino",
    "it": "che cui quale quali dove",
    "pt": "que quem cujo cuja qual onde pois",
    "nl": "die dat waar waarbij waarin waardoor wie zodat want",
    "ru": "что который которая которое которые которого которой которых которым которую где куда откуда потому так как",
    "ar": "حيث الذي التي الذين مما حتى",
    "hi": "कि जो जिस जिसे जिसमें जिसके जिसकी जिससे जिन जिनके",
    "zh": "因此 所以 从而 從而",
    "th": "ซึ่ง โดย จึง จนกระทั่ง",
}
_LEADS = {  # endings of a clause that hangs on the next one
    "ja": "ので|から|けど|けれど|けれども|ば|たら|なら|ため|ために|のに|ながら|つつ|ものの|が",
    "ko": "지만|는데|은데|면서|므로|니까|려고|도록|아서|어서|여서|해서|자마자|면",
}


def hanging_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str] | None]:
    """What a clause opens with that hangs on another, the same inside a sentence, and what it ends with."""
    end = "" if language in ("zh", "th") else _WORD_END
    patterns = []
    for words in (_HANGS.get(language, ""), f"{_HANGS.get(language, '')} {_HANGS_INSIDE.get(language, '')}"):
        # an elided vowel is followed by its word at once
        options = [word if word.endswith("'") else word + end for word in words.split()]
        patterns.append(re.compile("|".join([r"[(\[（【]", *options]), re.IGNORECASE))
    leads = re.compile(rf"(?:{_LEADS[language]})[、，,]?\s*\Z") if language in _LEADS else None
    return patterns[0], patterns[1], leads


def language_of(text: str) -> str:
    """The language of the text as far as the rules care: a two-letter code, or "" where none is likely.

    Decided by the script, for Latin letters by counting function words, on the first few thousand characters.
    """
    sample = text[:_SAMPLE]
    words = [word.lower() for word in _LATIN_WORD.findall(sample) if word.isascii() or word[0] < "\u0250"]
    latin = sum(map(len, words))
    for language, pattern in _SCRIPTS:
        found = len(pattern.findall(sample))
        if found >= 3 and found * (8 if language == "ja" else 3) > latin:
            return language
    if not words:
        return ""
    counts = {language: sum(map(stop.__contains__, words)) for language, stop in _STOP_SETS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] * 12 >= len(words) or (best == "en" and counts[best] * 25 >= len(words)) else ""


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """What stands before a cut; the cut falls behind it and the white space that follows."""
    if language == "zh":
        return re.compile(rf"[；：;]|——|[，,](?={_ZH_OPEN})|[，,](?=[^，,；：。！？!?\n]{{10}})")
    if language == "ja":
        return re.compile(rf"[；：]|(?:{_JA_END})[、，]")
    if language == "ko":
        return re.compile(
            rf"(?:{_KO_END}),?(?=\s)|(?:{_KO_COMMA_END}),(?=\s)|[;:](?=\s)|,(?=\s(?:그러나|하지만|그리고|또한|또는)\b)"
        )
    if language == "th":
        return re.compile(rf"[ ](?={_TH_OPEN})|[;:](?=\s)")
    if language not in _AFTER_COMMA:
        return re.compile(rf"{_MARK_THEN_SPACE}|{_BRACKETED}")
    parts = [_MARK_THEN_SPACE, rf"[,،](?=\s(?:{_AFTER_COMMA[language].replace(' ', '|')}){_WORD_END})", _BRACKETED]
    if language == "ar":  # the conjunction is written as part of the word that follows
        parts.append(r"[,،](?=\sو)")
    if _ALONE[language]:
        parts.append(rf"\s(?=(?:{_ALONE[language].replace(' ', '|')})\s)")
    return re.compile("|".join(parts), re.IGNORECASE)


class RuleCutter:
    """Cuts sentences of one language by its rules; any other language by the marks that all of them share."""

    def __init__(self, language: str) -> None:
        self.language = language

    def cuts(self, text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Ascending offsets strictly inside each span where a clause begins."""
        pattern = _pattern(self.language)
        smallest = _MIN_CHARS.get(self.language, 8)
        words = 0 if self.language in _MIN_CHARS else 2
        return [
            _keep_long(
                text, (start, end), [match.end() for match in pattern.finditer(text, start, end)], smallest, words
            )
            for start, end in spans
        ]


def _keep_long(text: str, span: tuple[int, int], found: list[int], smallest: int, words: int) -> list[int]:
    """The offsets that leave no piece shorter than `smallest` characters or `words` words."""
    if not found:
        return found
    start, end = span
    ends = [match.end() for match in _WORD.finditer(text, start, end)] if words else []
    kept: list[int] = []
    seen = 0  # words before the last kept cut
    for offset in found:
        cut = skip_space(text, offset, end)
        before = bisect_right(ends, cut)
        if min(before - seen, len(ends) - before) < words or min(cut - start, end - cut) < smallest:
            continue
        if is_break(text, cut):
            kept.append(cut)
            start, seen = cut, before
    return kept


def skip_space(text: str, offset: int, end: int) -> int:
    """The first offset from `offset` on that is no white space, at most `end`."""
    while offset < end and text[offset].isspace():
        offset += 1
    return offset
