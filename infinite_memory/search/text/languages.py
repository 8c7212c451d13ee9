"""The language of a text in Latin letters, recognised by its function words and letters.

The English stems of a text are always indexed. A text in another language gets stems of that
language as well, so that a wrong guess costs little: a question and a memory still share their
English stems.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter, defaultdict
from functools import cache, lru_cache

import Stemmer

from infinite_memory.search.text.word_lists import stop_words

# The most frequent words of the languages, without accents, as `fold` returns them.
_FUNCTION_WORDS = {
    "spanish": "el la los las de del que y en un una es por con para se al lo como mas pero sus le"
    " ya fue este ha si porque esta son entre cuando muy sin sobre tambien hasta hay donde quien"
    " quienes desde nos ni eso mi cual cuales cuanto cuantos cuanta cuantas fueron era su",
    "french": "le la les des de du et est une un dans que qui pour pas sur au aux avec ce cette il"
    " elle nous vous je mon ma mes quel quelle quels quelles ou quand combien comment pourquoi sont"
    " ont par plus ne se son sa ses leur leurs etait ete fut d l qu n en y a",
    "italian": "il lo la gli le di che e un una uno per con del della dei delle degli non sono nel"
    " nella mi chi quando dove quale quali quanto quanti quante come perche piu da dal al alla si"
    " ha stato era anche questo questa cosa i in su",
    "portuguese": "o a os as de que e em um uma por com para do da dos das nao no na nos nas se"
    " como quem onde quando qual quais quantos quantas quanto foi foram sao mais ao pelo pela seu"
    " sua meu minha era isso este esta ele ela",
    "german": "der die das und ist nicht ein eine einen einem einer eines den dem des von mit fur"
    " auf sich auch wie wer was wann wo warum wen wem welche welcher welches welchen wurde wurden"
    " sind im zu zum zur bei ich wir mein meine es aus nach uber war waren hat haben als wird"
    " werden um durch oder aber viele in an am vom",
    "dutch": "de het een en van is niet in op te dat die voor met zijn ik wie wat waar wanneer"
    " waarom welke welk mijn er aan ook als bij naar uit door werd werden hoe hoeveel heeft hebben"
    " maar wij je over om tot deze dit was",
    "swedish": "och att det som en ett ar pa av for med inte den har jag vad vem nar var hur manga"
    " vilken vilket vilka till fran om de sin sina blev ska men i detta",
    "danish": "og at det som en et er pa af for med ikke den har jeg hvad hvem hvornar hvor mange"
    " hvilken hvilket hvilke til fra om de sin blev skal men i der var",
    "norwegian": "og at det som en et er pa av for med ikke den har jeg hva hvem nar hvor mange"
    " hvilken hvilket hvilke til fra om de sin ble skal men i var",
    "romanian": "si de la in a ca este un o din pe cu nu care pentru ale sunt fost ce cine unde"
    " cand cum cate cati cat mai al lui ei sa se au prin dintre",
    "turkish": "ve bir bu da de icin ile ne kim nerede kac hangi olarak mi mu ben cok gibi olan"
    " nasil neden degil kadar daha sonra en ilk var veya ancak her tarafindan nedir kimdir hangisi"
    " zaman neydi kimdi kactir nerededir hangileri kimler neler yilinda vardir edildi",
    "finnish": "ja on ei se etta oli han mika kuka missa milloin kuinka joka ovat mutta myos tai"
    " kun jossa mita ketka minka olivat",
    "hungarian": "a az es egy hogy nem van volt ki mi hol mikor mennyi hany ez azt is meg csak mint"
    " milyen melyik voltak kik",
    "indonesian": "yang dan di dari untuk dengan adalah ini itu pada tidak apa siapa kapan mana"
    " berapa ke dalam akan oleh sebagai bagaimana saya",
    # There is no stemmer for these languages, but they must not be mistaken for others.
    "vietnamese": "la va cua cho trong khong co duoc nguoi mot nhung cac voi tu khi den nao gi ai"
    " da bao nhieu dau the nay nam o duoc toi cung nhu ve di con vao ra lam ten",
    "polish": "i w na z do nie to jest sie ze o jak co kto gdzie kiedy ile dla od po przez przy byl"
    " byla bylo czy ktory ktora ktore jaki jaka jakie oraz za",
    "czech": "a v na se je ze s z do o k jak co kdo kde kdy kolik pro od po pri byl byla bylo ktery"
    " ktera ktere nebo jsou jaky jaka i za",
}
# Letters of few languages. A short note has more of them than of function words.
_LETTERS = {
    "ı": ("turkish",),
    "ğ": ("turkish",),
    "ş": ("turkish", "romanian"),
    "ñ": ("spanish",),
    "¿": ("spanish",),
    "¡": ("spanish",),
    "ß": ("german",),
    "ä": ("german", "swedish", "finnish"),
    "ö": ("german", "swedish", "finnish", "hungarian", "turkish"),
    "ü": ("german", "hungarian", "turkish"),
    "ő": ("hungarian",),
    "ű": ("hungarian",),
    "å": ("swedish", "danish", "norwegian"),
    "ø": ("danish", "norwegian"),
    "æ": ("danish", "norwegian"),
    "ă": ("romanian", "vietnamese"),
    "ș": ("romanian",),
    "ț": ("romanian",),
    "ţ": ("romanian",),
    "ã": ("portuguese", "vietnamese"),
    "õ": ("portuguese", "vietnamese"),
    "œ": ("french",),
    **dict.fromkeys("đơư", ("vietnamese",)),
    **dict.fromkeys("łżśźńąę", ("polish",)),
    **dict.fromkeys("řěů", ("czech",)),
}
_UNSTEMMED = frozenset(("vietnamese", "polish", "czech"))
_ENGLISH = "english"
_LEAST = 2
_MOST_TIED = 2
_WORD = re.compile("[a-z]+")
# Also English words or parts of names: "care", "Van Gogh".
_AMBIGUOUS = frozenset(
    "care die met van von door over hat war bin men mange son ten sale fur plus comment pour per"
    " come non hay han tot hoe pro sin lui dan los las les des del mai mine mit nur sur"
    " cat mint manga era dos volt ben kim var".split()
)
# Remains of contractions, which are words of other languages: "ve" is "and" in Turkish.
_CONTRACTIONS = frozenset({"ve", "ll", "re", "s", "t", "don"})


@cache
def _english_words() -> frozenset[str]:
    return stop_words() - _CONTRACTIONS


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    languages: defaultdict[str, list[str]] = defaultdict(list)
    for language, words in _FUNCTION_WORDS.items():
        for word in sorted({*words.split()}):
            languages[word].append(language)
    for word in (*_english_words(), "not", "no"):
        languages[word].append(_ENGLISH)
    return {word: tuple(names) for word, names in languages.items()}


@cache
def _foreign_words() -> frozenset[str]:
    return frozenset(_languages_by_word()) - _english_words()


@cache
def _distinctive_words() -> frozenset[str]:
    """Return the words that prove a language if nothing speaks for English."""
    return frozenset(word for word in _foreign_words() - _AMBIGUOUS if len(word) > 2)


_lock = threading.Lock()


def _renew_lock() -> None:
    """Replace the lock in a forked child, since a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def languages_of(text: str, folded: str) -> tuple[str, ...]:
    """Return the language of a text, two languages if they tie, none for English.

    `folded` is the text without differences of letter case and accents.
    """
    words = _WORD.findall(folded)
    letters = [] if text.isascii() else [letter for letter in text.lower() if letter in _LETTERS]
    if _foreign_words().isdisjoint(words) and not letters:
        return ()
    counts = Counter(language for word in words for language in _languages_by_word().get(word, ()))
    is_distinctive = not _distinctive_words().isdisjoint(words)
    if _ENGLISH not in counts:
        counts.update(language for letter in letters for language in _LETTERS[letter])
        is_sure = is_distinctive or bool(letters)
    else:
        is_sure = is_distinctive and max(counts.values()) >= _LEAST
    highest = max(counts.values(), default=0)
    best = {language for language, count in counts.items() if count == highest}
    if not is_sure or _ENGLISH in best or len(best) > _MOST_TIED or best & _UNSTEMMED:
        return ()
    return tuple(sorted(best))


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the words of a language that do not show the subject of a text."""
    return frozenset(_FUNCTION_WORDS[language].split())


@lru_cache(maxsize=200_000)
def stem_in(language: str, word: str) -> str:
    """Return the Snowball stem of a word in small letters; the stem keeps its accents."""
    # Two threads must not use a Stemmer object at once.
    with _lock:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)
