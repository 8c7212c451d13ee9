"""Which language in Latin letters a text is written in, told by its function words and letters.

English needs no telling: its stems are always made. Where a text is taken for another language,
stems of that one are made beside them, so that what is told wrongly costs little: a question and a
memory still meet in the English ones.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter, defaultdict
from functools import cache, lru_cache

import Stemmer

from infinite_memory.text.stopwords import STOP_WORDS

__all__ = ["function_words", "languages_of", "stem_in"]

# Without accents, as `fold` leaves them; from the most frequent words of each language.
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
    "turkish": "ve bir bu da de icin ile ne kim nerede kac hangi olarak mi mı mu ben cok gibi olan"
    " nasıl neden degil kadar daha sonra en ilk var veya ancak her tarafından nedir kimdir hangisi"
    " zaman neydi kimdi kactır nerededir hangileri kimler neler yılında vardır edildi",
    "finnish": "ja on ei se etta oli han mika kuka missa milloin kuinka joka ovat mutta myos tai"
    " kun jossa mita ketka minka olivat",
    "hungarian": "a az es egy hogy nem van volt ki mi hol mikor mennyi hany ez azt is meg csak mint"
    " milyen melyik voltak kik",
    "indonesian": "yang dan di dari untuk dengan adalah ini itu pada tidak apa siapa kapan mana"
    " berapa ke dalam akan oleh sebagai bagaimana saya",
    # Of these there is no stemmer, and they are not to be taken for others.
    "vietnamese": "la va cua cho trong khong co duoc nguoi mot nhung cac voi tu khi đen nao gi ai"
    " đa bao nhieu đau the nay nam o đuoc toi cung nhu ve đi con vao ra lam ten",
    "polish": "i w na z do nie to jest sie ze o jak co kto gdzie kiedy ile dla od po przez przy byl"
    " byla bylo czy ktory ktora ktore jaki jaka jakie oraz za",
    "czech": "a v na se je ze s z do o k jak co kdo kde kdy kolik pro od po pri byl byla bylo ktery"
    " ktera ktere nebo jsou jaky jaka i za",
}
# Letters of few languages; short notes have more of them than of function words.
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
_WORD = re.compile("[a-zı]+")
# Without what is left of contractions: "ve" is "and" in Turkish.
_ENGLISH_WORDS = STOP_WORDS - {"ve", "ll", "re", "s", "t", "don"}


def _by_word() -> dict[str, tuple[str, ...]]:
    languages: defaultdict[str, list[str]] = defaultdict(list)
    for language, words in _FUNCTION_WORDS.items():
        for word in sorted({*words.split()}):
            languages[word].append(language)
    for word in (*_ENGLISH_WORDS, "not", "no"):
        languages[word].append(_ENGLISH)
    return {word: tuple(found) for word, found in languages.items()}


_LANGUAGES = _by_word()
_FOREIGN = frozenset(_LANGUAGES) - _ENGLISH_WORDS
# English words as well, or what stands in names: "care", "Van Gogh".
_TELLING_LITTLE = frozenset(
    "care die met van von door over hat war bin men mange son ten sale fur plus comment pour per"
    " come non hay han tot hoe pro sin lui dan los las les des del mai mine mit nur sur".split()
)
# There has to be one of these, which is enough where nothing speaks for English.
_TELLING = frozenset(word for word in _FOREIGN - _TELLING_LITTLE if len(word) > 2)
_lock = threading.Lock()


def _renew_lock() -> None:
    """Replace the lock in a forked child: another thread may have held it at the fork."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def languages_of(text: str, folded: str) -> tuple[str, ...]:
    """Return the language of a text, two where they tie; none for English.

    `folded` is the text without differences of letter case and accents.
    """
    words = _WORD.findall(folded)
    letters = [] if text.isascii() else [one for one in text.lower() if one in _LETTERS]
    if _FOREIGN.isdisjoint(words) and not letters:
        return ()
    counts = Counter(language for word in words for language in _LANGUAGES.get(word, ()))
    telling = not _TELLING.isdisjoint(words)
    if _ENGLISH not in counts:
        counts.update(language for letter in letters for language in _LETTERS[letter])
        sure = telling or bool(letters)
    else:
        sure = telling and max(counts.values()) >= _LEAST
    most = max(counts.values(), default=0)
    best = {language for language, count in counts.items() if count == most}
    if not sure or _ENGLISH in best or len(best) > _MOST_TIED or best & _UNSTEMMED:
        return ()
    return tuple(sorted(best))


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the words of a language that say nothing of what a text is about."""
    return frozenset(_FUNCTION_WORDS[language].split())


@lru_cache(maxsize=200_000)
def stem_in(language: str, word: str) -> str:
    """Return the Snowball stem of a word in small letters, which keeps its accents."""
    # A Stemmer object may not be used by two threads at once.
    with _lock:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)
