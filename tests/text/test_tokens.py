"""Index terms: English, code, Chinese."""

from __future__ import annotations

import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.text.analyzer import fold, has_han, spelled_names, terms, words


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("We were running the migrations", "run migration"),
        ("Caroline's birthday party", "caroline birthday"),
        ("call parse_url() first", "parse_url"),
        ("call parse_url() first", "parse url"),
        ("class HttpServerError(Exception)", "http server error"),
        ("class HttpServerError(Exception)", "httpservererror"),
        ("see src/app/main.py:42", "src/app/main.py"),
        ("see src/app/main.py:42", "main.py"),
        ("upgraded to v3.2.1 today", "v3.2.1"),
        ("a well-known problem", "well known"),
        ("a well-known problem", "well-known"),
        ("it cost 1,000,000 dollars", "1000000"),
        ("the café in Köln", "cafe koln"),
        ("written in C++ and C#", "c++"),
        ("ｆｕｌｌ width", "full"),
        ("我们昨天讨论了数据库", "讨论"),
        ("我们昨天讨论了数据库", "数据库"),
        ("在 getUserName() 里修复了空指针", "getusername 修复"),
        ("東京タワーへ行った", "タワー"),
        ("Straße", "strasse"),
        ("Łukasz came with Ørsted", "lukasz orsted"),
        ("Işık in İstanbul", "isik istanbul"),
        ("Þór og Ægir", "thor aegir"),
        ("Їжак і Қанат", "іжак канат"),
        ("क़लम", "कलम"),
        ("def foo_bar(x):", "fooBar"),
        ("def foo_bar(x):", "FooBar"),
        ("call fooBar()", "foo-bar"),
        ("class FooBar:", "foobar"),
        ("from pathlib import Path; Path.read_text()", "read_text"),
        ("pathlib.Path.read_text", "Path.read_text"),
        ("pathlib.Path.read_text", "ReadText"),
        ("getHTTPResponseCode()", "get_http_response_code"),
        ("my_package/text/analyzer.py", "my_package.text"),
        ("see src/app/main.py:42", "src/app"),
        ("upgraded to v1.2.3 today", "1.2"),
        ("upgraded to 1.2.3 today", "v1.2.3"),
        ("runs on python3.11", "Python 3.11"),
        ("5.5GB of memory", "5.5 gb"),
        ("error E1234 in HTTP404", "http 404"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "127.0.0.1"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "econnrefused"),
        ("TypeError: 'NoneType' object is not subscriptable", "NoneType not subscriptable"),
        ("git commit --no-verify", "--no-verify"),
        ("keep secrets in .env.local", ".env"),
        ("written in C++20", "c++"),
        ("the sha is 53aa5117d128", "53aa511"),
        ("a list of URLs", "url"),
        ("Node.js is slow", "nodejs"),
        ("encoded as UTF-8, hashed with sha256", "utf8 SHA-256"),
        ("AT&T called", "at&t"),
        ("it works with OAuth2 over IPv6", "oauth"),
        ("on 2023-05-08", "2023-05"),
        ("mail bob.smith@example.com", "example.com"),
        ("https://docs.python.org/3/library/os.html", "docs.python.org"),
        ("用pandas的read_csv读取数据", "readCsv 读取"),
        ("版本v3.2.1已经发布", "3.2"),
        ("資料庫連線失敗，請檢查網路設定", "资料库"),
        ("数据库连接失败", "數據庫連接失敗"),
        ("在ＡＰＩ接口里返回HTTP 404", "api 404"),
        ("She bought a cello and went home", "what did she buy, and where did she go"),
        ("We met men whose children had broken a tooth", "meet a man, child, break, teeth"),
        ("I thought it was grey", "who thinks it is gray"),
        ("The colours were organised by two neighbours", "color organize 2 neighbor"),
    ],
)
def test_a_question_meets_a_document_in_the_same_terms(document: str, question: str) -> None:
    assert set(terms(question)) <= set(terms(document))


@pytest.mark.parametrize("text", ["", "the of and", "?!…", "a I you"])
def test_text_without_content_has_no_terms(text: str) -> None:
    assert terms(text) == []


def test_negations_are_content() -> None:
    assert "not" in terms("do not deploy")


def test_c_and_its_cousins_are_told_apart() -> None:
    assert set(terms("c++")) != set(terms("c#"))
    assert set(terms("c")) < set(terms("c++"))


@pytest.mark.parametrize(
    ("one", "other"), [("1.2", "12"), ("10:30", "10.30"), ("1.2.3", "1.3.2"), ("a1.b2", "a1b2")]
)
def test_numbers_that_are_joined_otherwise_are_others(one: str, other: str) -> None:
    assert set(terms(one)) != set(terms(other))


def test_a_name_counts_once_beside_its_words() -> None:
    assert terms("foo_bar") == ["foo", "bar", "foobar"]
    assert terms("src/app.py") == ["src", "app", "py", "apppi", "srcapp", "srcapppi"]


def test_the_letters_of_a_hash_are_no_words() -> None:
    assert terms("0x7fff5fbff8a0") == ["0x7fff5", "0x7fff5fbff8a0"]


def test_every_occurrence_counts() -> None:
    assert terms("cache the cache").count("cach") == 2


def test_chinese_becomes_characters_pairs_and_long_words() -> None:
    assert terms("数据库") == ["数", "据", "库", "数据", "据库", "数据库"]


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("read text", "def read_text(self):"),
        ("how does Get User Name work", "getUserName()"),
        ("where is node js", "Node.js"),
        ("git hub login", "GitHub"),
        ("如何用read csv读取", "read_csv"),
    ],
)
def test_words_may_spell_a_name(question: str, document: str) -> None:
    assert set(spelled_names(question)) & set(terms(document))


@pytest.mark.parametrize("text", ["", "one", "in to", "read, text", "read the text", "数据 库"])
def test_what_does_not_stand_together_spells_nothing(text: str) -> None:
    assert spelled_names(text) == []


def test_words_are_folded_and_kept_in_order() -> None:
    assert words("When did Caroline's Café open?") == [
        "when",
        "did",
        "caroline",
        "s",
        "cafe",
        "open",
    ]


def test_han_is_recognised() -> None:
    assert has_han("fix 数据库")
    assert not has_han("fix database")
    assert not has_han("カタカナ")


def test_vowel_signs_that_are_letters_of_a_script_are_kept() -> None:
    assert fold("हिन्दी") == "हिन्दी"


def test_a_very_long_run_of_letters_is_bounded() -> None:
    assert all(len(term) <= 64 for term in terms("a" * 100_000 + "/" + "b" * 100_000))


@given(st.text())
def test_any_text_gives_terms_without_white_space(text: str) -> None:
    for term in terms(text):
        assert term
        assert not any(character.isspace() for character in term)


@given(st.text())
def test_the_same_text_gives_the_same_terms(text: str) -> None:
    assert terms(text) == terms(text)


def test_threads_stem_without_disturbing_each_other() -> None:
    texts = [f"running{i} jumps connection relational{i}" for i in range(300)]
    expected = [terms(text) for text in texts]
    wrong: list[int] = []

    def work() -> None:
        for i, text in enumerate(texts):
            if terms(text.upper().lower()) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "v" + "1" * 200_000, "1." * 100_000, "a" * 200_000]
)
def test_a_run_of_any_length_is_read_in_one_go(text: str) -> None:
    """Each would take minutes if the time grew with the square of the length."""
    terms(text)
    spelled_names(text[:100_000])


@pytest.mark.parametrize("word", ["rose", "ground", "left-handed", "saws", "leaves"])
def test_what_is_as_often_another_word_stays_what_it_is(word: str) -> None:
    assert set(terms(word)).isdisjoint({"rise", "grind", "see", "leaf"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Книги на столах", "книга на столе"),
        ("всё ещё", "все еще"),
        ("Росси́я", "Россия"),
        ("βιβλία", "ΒΙΒΛΙΑ"),
        ("Αθήνα", "ΑΘΗΝΑ"),
        ("المدرسة", "مدرسة"),
        ("أحمد", "احمد"),
        ("كِتَاب", "كتاب"),
        ("किताबें", "किताब"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_words_of_other_scripts_are_stemmed_in_their_language(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize("text", ["हिन्दी", "বাংলা", "தமிழ்", "తెలుగు", "മലയാളം", "සිංහල"])
def test_a_word_of_an_indian_script_is_one_word(text: str) -> None:
    assert len(terms(text)) == 1
    assert words(text) == [fold(text)]


def test_korean_words_are_found_with_any_particle_behind_them() -> None:
    assert set(terms("데이터베이스")) <= set(terms("데이터베이스를"))
    assert terms("김") == ["김"]


def test_every_letter_is_found_in_another_case_and_without_its_mark() -> None:
    letters = [chr(number) for number in range(0x80, 0x30000) if chr(number).isalpha()]
    assert [one for one in letters if not fold(one) == fold(one.upper()) == fold(one.lower())] == []
    scripts = (
        "LATIN",
        "GREEK",
        "CYRILLIC",
        "HEBREW",
        "ARABIC",
        "DEVANAGARI",
        "BENGALI",
        "GURMUKHI",
    )
    marked = {
        letter: base
        for letter in letters
        for base, *marks in [unicodedata.normalize("NFD", letter)]
        if marks and all(map(unicodedata.combining, marks))
        if unicodedata.name(letter).startswith(scripts)
    }
    assert len(marked) > 800
    # й is another letter than и, and the iota below a Greek letter is one behind it.
    strange = {one for one in marked if one.casefold() == "й" or len(one.casefold()) > 1}
    kept = {one for one, base in marked.items() if fold(one) != fold(base)} - strange
    assert {one for one in kept if "\u0345" not in unicodedata.normalize("NFD", one)} == set()
