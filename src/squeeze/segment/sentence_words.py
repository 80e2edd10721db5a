"""Words that decide whether a full stop ends a sentence, in lower case and without the stop."""

from __future__ import annotations

_NEVER = """
    dr mr mrs ms mx messrs prof mt capt lt sgt cpl cmdr supt
    e.g eg i.e ie viz cf vs al approx resp esp incl excl aka ca eds nr
    figs eqs secs refs
    z.b zb d.h u.a ua bzw bspw vgl evtl ggf inkl exkl zzgl frl dipl fa hrsg abb kap geb insb i.d.r
    v.a m.e o.ä u.u i.a z.t zt z.zt
    mme mmes mlle mlles mgr av env p.ex sr sra srta sres dña uds dª sig sigg dott prof.ssa avv
    ad.es p.es exmo dhr mevr mw drs bijv d.w.z o.a m.b.t
    г гг ул им т.е т.к т.н напр см ср стр рис табл акад проф инж св
"""
_BEFORE_NUMBER = """
    д кв корп op bwv no nos nr nrs nº n p pp pg pgs s ss sp art arts § abs ziff kap abb bd bde aufl jg hft núm num pág
    págs fig figs eq
    eqs sec secs ch chap tab app ref refs vol vols pt jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr
    juil déc ene abr ago dic okt dez mär ver v c
    ca circa approx cap rz bl par t l ll № с т п ст
"""
_MAYBE = """
    inc ltd corp co bros llc plc jr sr esq etc ave blvd rd hwy dept univ assn est min max sq jan feb mar apr jun jul
    aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun a.m p.m am pm u.s u.k u.n e.u d.c b.c a.d
    ph.d m.d b.a m.a m.sc b.sc u.s.a n.y l.a usw usf u.s.w ggü zit str nachf gmbh ag tel pcs
    st ste ft gen col maj adm rev hon rt pres gov sen rep v et ed trans vol vols pt fig eq sec ch chap tab app ref apr
    ex     sog gem hr fr gest hl ing m mm d пр пл гл dh ud
    s.a s.l hnos ff f hrs
"""
_ORDINAL_BEFORE = """
    der die das den dem des am im vom zum zur bis ab seit und oder jeder jede jedes dieser dieses diesem diesen kl
"""
_MONTHS = """
    januar jänner februar märz april mai juni juli august september oktober november dezember jan feb mär apr jun jul
    aug sep sept okt nov dez jahrhundert jahrhunderts jh weltkrieg weltkriegs
"""
_STARTERS = {
    "en": """
        the a an this that these those it he she they we you i in on at by for from with as and but or so if when
        while after before during there here then thus his her its their our my your to of what who why how where which
        some many most all both each another other no not yes also although because since such under until upon one two
        three however therefore moreover furthermore nevertheless according despite once now today only even
        are is was were do does did have has had can could will would should please let see use note""",
    "de": """
        der die das ein eine einer er sie es wir ich ihr in im am an auf aus bei mit für von vom zum zur zu nach und
        aber oder so wenn als während dann dort hier dies diese dieser dieses sein seine ihre man auch nur noch da damit
        doch durch ist sind war waren wie was wer wo warum weil danach später heute""",
    "fr": """
        le la les l un une des du il elle ils elles ce cet cette ces c on nous vous je en dans à au aux pour par
        avec sans mais et ou si quand lorsque après avant son sa ses leur leurs qui que quoi comment pourquoi où est""",
    "es": """
        el la los las un una unos unas él ella ellos ellas se su sus en de del por para con sin pero y o si cuando
        como después antes este esta estos estas eso esto no también es son fue qué quién dónde más""",
    "it": "il lo la i gli le un una è in di del della per con ma e se quando dopo prima questo questa non si che chi",
    "pt": "o a os as um uma é em de do da no na por para com mas e se quando depois este esta não ele ela eles",
    "nl": "de het een hij zij ze we ik in op aan voor met van maar en of als toen na dit dat deze niet er is",
    "ru": "в на и но а он она они оно это эта этот мы вы я не с по из к у за для от до при как что если когда после",
}

NEVER = frozenset(_NEVER.split())
"""Never the last word of a sentence: titles and words that introduce what follows."""
BEFORE_NUMBER = frozenset(_BEFORE_NUMBER.split())
"""Introduces a number; an ordinary last word before anything else."""
MAYBE = frozenset(_MAYBE.split())
"""May end a sentence or not: the word that follows decides."""
ORDINAL_BEFORE = frozenset(_ORDINAL_BEFORE.split())
"""German words before an ordinal number, which is written with a stop."""
MONTHS = frozenset(_MONTHS.split())
"""German words after an ordinal number."""
STARTERS = {language: frozenset(words.split()) for language, words in _STARTERS.items()}
"""Open a sentence far more often than they stand inside a name after an abbreviation."""
