from __future__ import annotations

from infinite_memory.search.embedding.scripts import covered_scripts, written_in


def test_a_script_counts_from_a_thousand_entries() -> None:
    latin = [f"##w{number}" for number in range(1_000)]
    han = [chr(0x4E00 + number) for number in range(1_000)]
    assert covered_scripts([*latin, *han[:-1], "1", "привет"]) == ("LATIN",)
    assert covered_scripts([*latin, *han]) == ("CJK", "LATIN")


def test_scripts_that_are_written_together_are_covered_together() -> None:
    hiragana = [f"あ{number}" for number in range(1_000)]
    assert written_in("コーヒー", covered_scripts([*hiragana, "コ"]))


def test_a_small_vocabulary_has_its_most_frequent_script() -> None:
    assert covered_scripts(["да", "нет", "yes", "[1]"]) == ("CYRILLIC",)
    assert covered_scripts(["1", "##2"]) == ()


def test_half_the_letters_decide() -> None:
    assert written_in("ab 北京", ["LATIN"])
    assert not written_in("a 北京", ["LATIN"])
    assert written_in("12:30 !", [])
