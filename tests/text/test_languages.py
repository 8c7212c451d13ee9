"""Which language in Latin letters a text is in, and words that meet in its stems."""

from __future__ import annotations

import pytest

from infinite_memory.search.text.analyzer import fold, terms
from infinite_memory.search.text.languages import function_words, languages_of, stem_in


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Cuántos puntos permitió la defensa?", "spanish"),
        ("Quand est-ce que nous avons rencontré Anna ?", "french"),
        ("Quando abbiamo incontrato i genitori di Anna?", "italian"),
        ("Quando é que encontrámos os pais da Anna?", "portuguese"),
        ("Wann haben wir Annas Eltern getroffen?", "german"),
        ("Wanneer hebben wij de ouders van Anna ontmoet?", "dutch"),
        ("När träffade vi Annas föräldrar och var?", "swedish"),
        ("Cine este mama ei și unde locuiește?", "romanian"),
        ("Şirketin kurucusu kimdir ve nerede yaşıyor?", "turkish"),
        ("Missä hän on ja kuinka vanha hän oli?", "finnish"),
        ("Hol van az autó és mennyi volt?", "hungarian"),
        ("Siapa nama orang yang datang dari Bali?", "indonesian"),
        ("Evdeki kitapları salona taşıdık ve masayı sattık.", "turkish"),
        ("Compré piñas ayer", "spanish"),
        ("Grüße aus Köln", "german"),
        ("Strömming från Ängelholm", "swedish"),
    ],
)
def test_a_language_is_told_by_its_function_words(text: str, language: str) -> None:
    assert language in languages_of(text, fold(text))
    assert function_words(language)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I moved to Berlin in 2021 and work as a nurse at the Charité.",
        "Take care of the van, and die hard",
        "Vincent van Gogh met Los Angeles",
        "We met Müller and Jürgen in Zürich",
        "My flight to São Paulo was late",
        "def parse(el, de): return el or None",
        "We had a quick lunch with the de la Cruz family",
        "ECONNREFUSED 127.0.0.1:5432",
        "Tại sao người Việt Nam không ăn cơm và cá?",
        "Kiedy i gdzie był pierwszy mecz w tym roku?",
        "Kdy a kde se hrál první zápas v roce 2010?",
    ],
)
def test_english_and_what_has_no_stemmer_are_left_alone(text: str) -> None:
    assert languages_of(text, fold(text)) == ()


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("Wir haben die Häuser in den Städten gesehen.", "Wo ist das Haus in der Stadt?"),
        ("Compramos las casas en Madrid por poco dinero", "¿Cuándo y dónde compré la casa?"),
        ("Evlerimizde kitaplar ve bir masa var", "kitap ne kadar ve ev nerede"),
        (
            "Evdeki kitapları salona taşıdık ve masayı sattık.",
            "kitap nerede, salon ve masa ne oldu",
        ),
    ],
)
def test_forms_of_a_word_meet_in_its_language(document: str, question: str) -> None:
    (language,) = languages_of(question, fold(question))
    content = {fold(stem_in(language, word)) for word in question.lower().strip("¿?").split()}
    shared = set(terms(document)) & set(terms(question))
    assert len(shared & content) >= 2


def test_stems_of_english_stay_beside_those_of_the_language() -> None:
    text = "Die Häuser in den Städten waren schön"
    assert {"hauser", "haus", "stadten", "stadt"} <= set(terms(text))
    # A question too short to tell the language by still meets the word as it is written.
    assert set(terms("Häuser")) <= set(terms(text))
