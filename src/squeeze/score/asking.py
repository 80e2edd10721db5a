"""What kind of answer a query asks for: a time, a number, or a name."""

from __future__ import annotations

import regex

_SPACED = {
    "time": (
        "when|year|how old|(?:what|which|whose) (?:\\w+ )?(?:year|date|month|day|decade|century|time)",
        "cu[aá]ndo|(?:qu[eé]|cu[aá]l) (?:a[nñ]o|fecha|d[ií]a)|quand|quelle (?:ann[eé]e|date)",
        "quando|(?:que|che|qual) (?:ano|anno|data)|wann|welche[mnrs]? (?:jahr|tag|datum)",
        "когда|како(?:м|го|й) (?:году|года|год|день|дня|век)\\w*|ne zaman|hangi (?:y[ıi]l|tarih)\\w*",
        "متى|عام|سنة|तब|कब|किस (?:वर्ष|साल|तारीख)|milloin|min[aä] vuonna|kapan|tahun berapa|lini|mwaka (?:gani|upi)",
        "ఎప్పుడు|ఏ సంవత్సరం\\w*|কবে|কখন|কত সালে|khi n[aà]o|n[aă]m n[aà]o",
    ),
    "number": (
        "how (?:many|much|long|far|tall|high|large|big|deep|fast|often|old)|number of",
        "(?:what|which) (?:\\w+ )?(?:percent|percentage|number|amount|population|size|area|length|height|distance)",
        "(?:what|which) (?:\\w+ )?(?:rate|cost|price|total|score|share)|cu[aá]nt[oa]s?|combien|quant[oaie]s?",
        "wie ?viele?|wie (?:lang|hoch|gro[sß]+|weit|alt)|сколько|какова|كم|कितन\\w+|ka[cç]|ne kadar",
        "kuinka|montako|paljonko|berapa|seberapa|ngapi|ఎంత|ఎన్ని|কত|কতটি|bao nhi[eê]u",
    ),
    "name": (
        "who|whom|whose|where|(?:what|which) (?:\\w+ )?(?:city|town|country|state|county|person|name|place|company)",
        "(?:what|which) (?:\\w+ )?(?:team|group|band|actor|actress|director|author|artist|player|university|school)",
        "(?:what|which) (?:\\w+ )?(?:film|album|song|book|river)|qui[eé]n(?:es)?|d[oó]nde|qui|où|quem|onde|chi|dove",
        "wer|wem|wen|wo|wohin|woher|кто|кем|кого|где|من|أين|اين|कौन|किसने|किसके|कहां|कहाँ|kim|kimin|nerede",
        "kuka|kenen|miss[aä]|siapa|(?:di )?mana|nani|wapi|ఎవరు|ఎక్కడ|কে|কোথায়|কার|ai|[oở] đ[aâ]u",
    ),
}
_DENSE = {
    "time": "什么时候|什麼時候|何时|何時|哪年|哪一年|哪天|几年|いつ|何年|何月|何日|何世紀|언제|몇 ?년|몇 ?월|연도는",
    "number": "多少|几|多大|多长|多高|何人|何個|何本|何回|何歳|何%|いくつ|いくら|どれくらい|どのくらい|몇|얼마",
    "name": "谁|誰|哪里|哪裡|在哪|哪个|哪位|どこ|だれ|누구|누가|어디|이름",
}
_KINDS = {
    kind: regex.compile(rf"(?i)(?<![\w\p{{M}}])(?:{'|'.join(spaced)})(?![\w\p{{M}}])|{_DENSE[kind]}")
    for kind, spaced in _SPACED.items()
}


def asks_for(query: str) -> tuple[bool, bool, bool]:
    """Whether the query asks for a time, for a number, for a name (of a person, place or thing).

    By question words of some twenty languages; a query may ask for several or for none.
    """
    return tuple(pattern.search(query) is not None for pattern in _KINDS.values())  # type: ignore[return-value]
