"""The sentences of a message that state something lasting, found by their form.

Such a sentence has a finite verb, and speaks of the user or their people ("my", "we"), of a name, a
number or a date, or has a word that makes a rule of it ("never", "from now on"). Questions, orders
of the moment, reports of errors, opinions, quotations, pasted lines and code are none. What is
unsure is left out: a sentence that is missed is still in its message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from attrs import frozen

from infinite_memory.core.secrets import MASK
from infinite_memory.features.sessions.withheld import PRIVATE
from infinite_memory.search.text.analyzer import fold, has_han
from infinite_memory.search.text.languages import function_words
from infinite_memory.search.text.passages import SENTENCE_END
from infinite_memory.search.text.word_lists import stop_words

_MAX_CHARS = 400
_MAX_STATEMENTS = 20
# Enough for what a person writes by hand; a longer message is mostly pasted.
_READ_CHARS = 8_000

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
# Quoted and indented lines, prompts of a shell, and the lines of logs and stack traces.
_PASTED = re.compile(
    r"^(?:[>|$#%+@]|[ ]{4}|\t|\d{4}-\d\d-\d\d|at |\S*(?:Error|Exception|Warning)\b|\[|<).*$"
    r"|^.*(?:[{};]|=>|\w\(\)?)[ \t]*$",
    re.MULTILINE,
)
# Not a name or a word in quotation marks.
_QUOTED = re.compile(r'"[^"\n]{6,}"|[“„«「][^“”„«»「」\n]{6,}[“”»」]')
_HIDDEN = "\ufffc"
_ORDINAL = re.compile(r"\b(?:am|vom|zum|dem|den|der|ab|bis|seit) \d{1,2}\.\s*$", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][a-z]\w+|(?<=[a-z0-9,] )[A-Z]{2,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_REFUSED = re.compile(rf"[?？{_HIDDEN}]|[a-z]Error\b|[a-z]Exception\b")
_AMOUNT = re.compile(r"\d")
_GREETINGS = (
    r"(?:(?:hi|hello|hey|hallo|hola|bonjour|salut|and|also|so|then|now|good|right|yes|no|ok|okay"
    r"|wait|please|und|bitte|y|por favor|et|s['’]il te pla[iî]t)[,.!:]? )"
)
_SPOKEN_TO = re.compile(rf"^{_GREETINGS}+")
# A wish to remember, as a rule with "this:" or "that" before what is to be remembered.
_WISH = re.compile(
    rf"{_GREETINGS}*(?:remember|(?:do not|don['’]t) forget|keep in mind|merke? dir|vergiss nicht"
    r"|recuerda|no olvides|retiens|souviens-toi|n['’]oublie pas|请?(?:记住|别忘了))(?! to\b)"
    r"(?:(?P<colon>(?: \w+){0,2}(?:: |：))|(?P<that>,? (?:that |dass |que |qu['’])))?[ ,，]*",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class _Forms:
    """The forms of a language, as parts of patterns for a sentence without accents and capitals.

    `lasting` makes a rule or a correction of a sentence, `mine` begins what a person says of
    themselves, and `ours` what several say; `theirs` may stand later. `finite` are verbs, `other`
    shows that it is none: a problem, an opinion, a wish or a deed of the moment. `order` begins an
    order, or names a subject that stands elsewhere, and `asked` begins a question.
    """

    lasting: str
    mine: str
    ours: str
    theirs: str
    finite: str
    other: str
    order: str
    asked: str


_STATING = {
    "english": _Forms(
        lasting=r"never|always|ever\.?$|from now on|by the way|correction|no longer|whenever"
        r"|remind me (?:to|on|at|in|tomorrow|tonight|next|every)|call me|must (?:stay|never|always)"
        r"|in (?:this|our) (?:project|repo|repository|code|codebase)|(?<=, )not",
        ours=r"our|we(?:'re|'ve)? (?!should|could|can|need|want|tried|get|got|see|did)"
        r"|in this \w+,? we",
        mine=r"my|i'?(?:m| am) (?!a bit|not|sure|stuck|sorry|done|still|just|\w+ing)|i'd rather"
        r"|i(?:'ve| have)? (?:live|work|prefer|like|love|hate|use|own|speak|drive|eat|drink|moved"
        r"|switched|was born|cannot (?:eat|drink|stand|hear|see)|get \w+sick|have"
        r" (?!questions?|errors?|problems?|ideas?|doubts?)\w+"
        r" (?!questions?|errors?|problems?|ideas?|doubts?))",
        theirs=r"(?:is|are|was) (?:my|our)|(?:with|of|by|for|in|to) our|the only",
        finite=r"is|are|was|were|has|have|had|must|cannot|can|will|needs?|may|costs?|takes?"
        r"|leaves?|lives?|works?|drives?|starts?|ends?|expires?|belongs?|lies|weighs|gets|pays"
        r"|means",
        other=r"error|fails?|failing|failed|broken|crash\w*|console|exception|bug"
        r"|does ?n.t|did not|nothing|white|blank|thanks?|i think|i guess|seems? like",
        order=r"let'?s|let us|you (?:can|could|may)"
        r"|(?:it|this|that|these|those|he|she|they)\b(?! (?:is|does|has|gets"
        r"|never|always)\b.*\d)|\w+ (?:an?|it|this|that|these|me|us|him|her|them|my|all|how"
        r"|what|up|for|to|in|out|if|whether|on)|(?!on|in|for|by|of|with|at|after|before)\w+ the",
        asked=r"what|how|who|which|why|where|when|can|could|should|would|is|are|does|did",
    ),
    "german": _Forms(
        lasting=r"nie|niemals|immer (?!noch)|ab (?:jetzt|sofort|heute)|von nun an|ubrigens"
        r"|korrektur|erinner\w* mich (?:an|am|daran|um|morgen)|grundsatzlich|in diesem projekt"
        r"|(?<=, )(?:nicht|kein\w*)",
        ours=r"unser\w*|wir (?!sollten|konnten|mussen|wollen)",
        mine=r"mein\w*|ich (?:bin|heisse|wohne"
        r"|lebe|arbeite|mag|hasse|liebe|bevorzuge|benutze|nutze|esse|trinke|spreche|fahre"
        r"|vertrage)",
        theirs=r"(?:ist|sind|war) (?:mein|unser)\w*|(?:bei|mit|von|fur|in|an) unser\w*",
        finite=r"ist|sind|war|waren|hat|haben|muss|mussen|darf|durfen|kann|wird|werden|braucht"
        r"|brauchen|heisst|liegt|kostet|fahrt|beginnt|endet|misst|wohnt|arbeitet|gehort|gilt",
        other=r"fehler|fehl|falsch|kaputt|konsole|absturz|bleibt weiss|danke|glaube|denke|finde"
        r"|gerade|ein bisschen|mude",
        order=r"lass uns|(?:es|das|dies|er|sie) (?:ist|war|geht|hat|muss|kann|wird|soll\w*)"
        r"|(?!in|auf|an|bei|fur|mit)\w+ (?:mir|uns|den|die|das|eine?n?|ihm|ihr)",
        asked=r"was|wie|wer|wann|wo|warum|welche\w*|kannst|konntest|hast|ist|sind",
    ),
    "spanish": _Forms(
        lasting=r"recuerdame (?:el|manana|\w+[aei]r)|nunca|jamas|siempre|a partir de ahora"
        r"|de ahora en adelante|por cierto|correccion|en este proyecto|(?<=, )no (?!lo|se|la|me)",
        ours=r"nuestr[oa]s?|somos|hemos|(?:aqui )?\w+[ai]mos",
        mine=r"mis?|(?:yo )?(?:soy|vivo|trabajo|prefiero|odio|uso|hablo|no como"
        r"|me llamo|me gusta\w*|tengo(?! un (?:error|problema)))",
        theirs=r"es (?:mi|nuestr[oa])|(?:de|con|en|tiene|a) nuestr[oa]s?",
        finite=r"es|son|era|tiene|tienen|puede|pueden|debe|deben|mide|pesa|cuesta|sale|empieza"
        r"|termina|esta|estan|se \w+|necesitan?|vive|trabaja",
        other=r"error|fallo|falla|mal|rota?|consola|blanco|gracias|creo|pienso|acabo|un poco",
        order=r"(?:esto|eso|ese|esta)|\w+(?:me|lo|la|le)|(?!en|es|con|por|de)\w+ (?:el|los|las"
        r"|una?|esto)",
        asked=r"que|como|quien|cual|cuando|donde|cuanto|puedes|podrias|vamos a",
    ),
    "french": _Forms(
        lasting=r"jamais|a partir de maintenant|desormais|toujours (?!faux|pas|la meme)|au fait"
        r"|correction|rappelle-moi (?:de|d'|demain)|dans ce projet|(?<=, )pas (?!de)",
        ours=r"notre|nos|nous (?!devrions|pourrions)|(?:ici )?on (?!dirait|peut|va|the)",
        mine=r"mon|ma|mes|je (?:suis|m'appelle|travaille|prefere|deteste|vis|parle|mange|bois"
        r"|conduis|n'aime|ne mange|ne bois)|j'(?:habite|aime|utilise|adore)",
        theirs=r"est (?:mon|ma|notre)|(?:chez|de|avec|dans|par|a) (?:notre|nos)",
        finite=r"est|sont|etait|a|ont|doit|doivent|peut|peuvent|sera|seront|mesure|coute|pese"
        r"|part|commence|finit|s'appelle|faut|habite|travaille",
        other=r"erreur|echoue|faux|casse|console|blanche?|merci|je pense|je crois|viens de|un peu",
        order=r"(?:ca|c'est|ce|cela|il|elle)\b(?! (?:faut|est|a)\b.*\d)|\w+(?:-\w+)+"
        r"|(?!dans|en|chez|par|sur)\w+ (?:le|la|les|une?|l'|ca)",
        asked=r"que|comment|qui|quel\w*|quand|ou|pourquoi|combien|tu peux|peux-tu|qu'",
    ),
}

_HAN_LASTING = re.compile(
    "提醒我|从现在起|从今(?:天|以后)|^以后|永远|从不|从来不|总是|一定要?|^更正|顺便|不用"
)
_HAN_STATING = re.compile(
    "^我(?:的|们|叫|是|在|住|对.+过敏|喜欢|不喜欢|讨厌|(?:女儿|儿子|妻子|丈夫|爸|妈|家))"
    "|^我.{0,6}(?:上班|工作|出生)|是我(?:的|丈夫|妻子|女儿|儿子|老板|朋友|们)|这个(?:项目|仓库)"
    "|(?:是|长|重|在|停用|不能超过|必须|最多|需要|开|叫|[有花])[^吗呢]*\\d|\\d[^吗呢]*(?:是|开|停用|长|重|结束|开始)"
)  # fmt: skip
_HAN_OTHER = re.compile(
    "报错|错误|失败|空白|不对|谢谢|^[请把帮给再按换]|我觉得|我想|刚刚|[吗呢么]$|为什么|怎么|多[少久]"
)


def find_statements(text: str) -> list[str]:
    """Return the sentences of a user's message that state something lasting, word for word.

    They are in their order, at most twenty, and never of a question, of code or of a quotation.
    English, German, Spanish, French and Chinese are read.
    """
    text = text[:_READ_CHARS]
    shown = _QUOTED.sub(_hide, _PASTED.sub(_hide, _CODE.sub(_hide, text)))
    languages = _guess_languages(shown)
    found: list[str] = []
    for begin, end in _split(shown):
        wish = _WISH.match(shown, begin, end)
        start = wish.end() if wish else begin
        is_told = _is_wanted(wish, shown[start:end], languages) if wish else False
        if is_told or _is_statement(shown[start:end], languages):
            found.append(text[start:end])
    found = [sentence for sentence in found if not _holds_back(sentence)]
    return list(dict.fromkeys(found))[:_MAX_STATEMENTS]


@lru_cache(maxsize=4096)
def is_statement(text: str) -> bool:
    """Return whether a sentence of a text states something lasting, as in `find_statements`."""
    return bool(find_statements(text))


def speaks_of_self(text: str, *, alone: bool = False) -> bool:
    """Return whether a text begins with what people say of themselves and theirs.

    With `alone` it is one person who speaks, "my" and not "our".
    """
    folded = _SPOKEN_TO.sub("", fold(text[:_MAX_CHARS]).replace("’", "'"), count=1)
    return any(
        _pattern(forms.mine).match(folded) or (not alone and _pattern(forms.ours).match(folded))
        for forms in map(_STATING.__getitem__, _guess_languages(text))
    )


def _holds_back(sentence: str) -> bool:
    """Return whether a sentence is about a secret, or something private, that was left out."""
    return MASK in sentence or PRIVATE in sentence


def _hide(match: re.Match[str]) -> str:
    return _HIDDEN * len(match.group())


def _split(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a text begin and end, without white space around them."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    ends = [end for end in ends if not _ORDINAL.search(text, max(0, end - 20), end)]
    for begin, end in pairwise([0, *ends, len(text)]):
        sentence = text[begin:end]
        if sentence.strip():
            start = begin + len(sentence) - len(sentence.lstrip())
            yield start, start + len(sentence.strip())


def _guess_languages(text: str) -> list[str]:
    """Return the languages with most function words in a text; all of them if there are none."""
    words = set(_WORD.findall(fold(text)))
    counts = {name: len(words & _function_words(name)) for name in _STATING}
    return [name for name, count in counts.items() if count == max(counts.values())]


@cache
def _function_words(language: str) -> frozenset[str]:
    return stop_words() if language == "english" else function_words(language)


def _is_wanted(wish: re.Match[str], rest: str, languages: Sequence[str]) -> bool:
    """Return whether the rest after a wish to remember is surely what is to be remembered.

    After "that" it begins with a name or a function word: "that bug" names no statement.
    """
    first = _WORD.match(rest)
    if _REFUSED.search(rest) or len(rest) > _MAX_CHARS or not _WORD.search(rest):
        return False
    if not wish["that"] or first is None:
        return bool(wish["colon"])
    words = frozenset[str]().union(*map(_function_words, languages))
    return first.group()[0].isupper() or fold(first.group()) in words


def _is_statement(sentence: str, languages: Sequence[str]) -> bool:
    if _REFUSED.search(sentence) or len(sentence) > _MAX_CHARS:
        return False
    if has_han(sentence):
        said = sentence.rstrip("。！，!. ")
        is_told = _HAN_LASTING.search(said) or _HAN_STATING.search(said)
        return bool(is_told) and not _HAN_OTHER.search(said)
    folded = fold(sentence).replace("’", "'")
    folded = _SPOKEN_TO.sub("", folded, count=1)
    if any(_pattern(_STATING[language].other).search(folded) for language in languages):
        return False
    return any(_is_stated(sentence, folded, language) for language in languages)


def _is_stated(sentence: str, folded: str, language: str) -> bool:
    forms = _STATING[language]
    if _pattern(forms.asked).match(folded):
        return False
    if _pattern(forms.lasting).search(folded):
        return True
    if _pattern(forms.mine).match(folded) or _pattern(forms.ours).match(folded):
        return True
    if _pattern(forms.order).match(folded) or not _pattern(forms.finite).search(folded):
        return False
    has_name = language != "german" and _NAME.search(sentence)
    return bool(has_name or _AMOUNT.search(folded) or _pattern(forms.theirs).search(folded))


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of a form, as whole words."""
    return re.compile(rf"(?<![\w'])(?:{form})(?:(?<!\w)|(?!\w))")
