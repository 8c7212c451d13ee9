"""Which small words, commas, openings and breaks tell nothing, and which of them are the fact."""

from __future__ import annotations

import pytest

from infinite_memory.text.likeness import alike, fingerprint


def both_ways(one: str, other: str) -> set[bool]:
    return {alike(one, other, together=True), alike(other, one, together=True)}


FACTS = {
    "articles": [
        ("Bob is on the call", "Bob is on call"),
        ("Bob is on a call", "Bob is on call"),
        ("The dog is in the front of the car", "The dog is in front of the car"),
        ("Keep the key in the case of fire", "Keep the key in case of fire"),
        ("Anna sits on the board", "Anna sits on board"),
        ("The mayor is in the office", "The mayor is in office"),
        ("The lift is out of the order", "The lift is out of order"),
        ("They took the place", "They took place"),
        ("We had a chicken for lunch", "We had chicken for lunch"),
        ("Bob has a time for it", "Bob has time for it"),
        ("I like the coffee", "I like coffee"),
        ("Tom finished the 3rd", "Tom finished 3rd"),
        ("Ann placed the first", "Ann placed first"),
    ],
    "denials": [
        ("I dont really like it", "I dont like it"),
        ("It isnt really broken", "It isnt broken"),
        ("He rarely really works", "He rarely works"),
        ("Few people really know Bob", "Few people know Bob"),
    ],
    "commas": [
        ("Bob is, not Anna", "Bob is not Anna"),
        ("The guests can, not Anna", "The guests can not Anna"),
        ("Wait, not here", "Wait not here"),
        ("The last, but one is mine", "The last but one is mine"),
        ("He had little, but hope", "He had little but hope"),
    ],
    "numbers": [
        ("The point is 101,102 on the map", "The point is 101102 on the map"),
        ("Cell 101,102 is blue", "Cell 101102 is blue"),
        ("Give Jan 20 euros", "Give January 20 euros"),
        ("The ratio is 1:10", "The ratio is 11:0"),
        ("See 2025/06/05, not 2025-06-05", "See 2025-06-05, not 2025/06/05"),
    ],
    "case": [
        ("Run it with -N on the box", "run it with -n on the box"),
        ("Run it with -n on the box", "RUN IT WITH -N ON THE BOX"),
        ("The pwd of it is Blue", "the pwd of it is blue"),
        ("Das Passwort ist Sonne", "das passwort ist sonne"),
        ("我家 wifi 密码 是 Sunshine", "我家 wifi 密码 是 sunshine"),
        ("Talk to Baker about it", "talk to baker about it"),
        ("The OR is on fire", "the or is on fire"),
        ("The plant gives 5 MW of it", "the plant gives 5 mw of it"),
    ],
    "lists that begin like an opening": [
        ("Yes, no, cancel are the three buttons", "no, cancel are the three buttons"),
        ("Important, urgent, easy are the labels", "urgent, easy are the labels"),
        ("Hi, hello, hey are the greetings", "hello, hey are the greetings"),
        ("备注，标题，正文三个栏", "标题，正文三个栏"),
        ("The tags: work, btw", "The tags: work"),
    ],
    "openings and closings that say something": [
        ("BTW number is NL123456B01", "The number is NL123456B01"),
        ("FYI is a bar in Linz", "Is a bar in Linz"),
        ("Right, then second left past the church", "Then second left past the church"),
        ("Record: Bob ran it in 10 minutes", "Bob ran it in 10 minutes"),
        ("The film was 😀", "The film was"),
        ("The mood after the run 🙂", "The mood after the run"),
    ],
    "spaces": [
        ("购物清单：牛 奶粉", "购物清单：牛奶 粉"),
        ("要买苹果 汁", "要买苹果汁"),
        ("Run ruff check .", "Run ruff check"),
    ],
    "sentences": [
        ("Bob left. Anna stayed.", "Anna stayed. Bob left."),
        ("Bob left. Not Anna.", "Bob left not Anna."),
        ("The room is on floor 5. It is big.", "The room is on floor. 5 It is big."),
        ("Write colour. Never write color.", "Write color. Never write colour."),
        ("The password is below. It ends with tiger!", "The password is below. It ends with tiger"),
        ("他没有走。小王来了。", "他没有。走小王来了。"),
    ],
    "stars": [
        ("Search for **foo**/*.py", "Search for foo/*.py"),
        ("The password is **abc** here", "The password is abc here"),
        ("Use **kwargs and **args", "Use kwargs and args"),
    ],
    "ordinals": [("He saw the first", "He saw first"), ("Wait a second", "Wait a 2nd")],
}

SAME = {
    "sentences": [
        ("Bob left. Anna stayed.", "Bob left.\nAnna stayed."),
        ("Bob left. Anna stayed.", "Bob left.\n\nAnna stayed."),
        ("Bob left. Anna stayed.", "bob left! anna stayed!"),
        ("Hello there! The vault is open", "the vault is open"),
        ("It was in 2019. Anna stayed.", "It was in 2019.\nAnna stayed"),
        ("我住在北京。小王来了。", "我住在北京。\n小王来了"),
    ],
    "openings and closings": [
        ("Bob has moved to Rome", "Please save: Bob has moved to Rome"),
        ("Bob has moved to Rome", "Write down that Bob has moved to Rome"),
        ("Bob has moved to Rome", "Just remember that Bob has moved to Rome"),
        ("Bob has moved to Rome", "Add to memory: Bob has moved to Rome"),
        ("Bob has moved to Rome", "Bob has moved to Rome, please remember that."),
        ("Bob has moved to Rome", "Bob has moved to Rome. Please don't forget it."),
        ("我对花生过敏", "我想让你记住，我对花生过敏"),
        ("我对花生过敏", "帮我记住我对花生过敏"),
        ("我对花生过敏", "我对花生过敏，麻烦记一下。"),
    ],
    "stars": [
        ("Bob has moved to Rome", "Bob has **moved** to Rome"),
        ("Bob has moved to Rome", "Bob has **moved to Rome.**"),
    ],
    "numbers": [
        ("The firm employs 1,000 people", "The firm employs 1000 people"),
        ("The train leaves at 9:30", "The train leaves at 09:30"),
        ("The train leaves at 9:30 am", "The train leaves at 9:30 AM"),
        ("The lease ends on 2025/06/05", "The lease ends on June 5, 2025"),
        ("The share is $ 5 in the end", "The share is $5 in the end"),
        ("The share is 5€ in the end", "The share is €5 in the end"),
        ("房租5,000元", "房租5000元"),
        ("Anna lives on the first floor", "Anna lives on the 1st floor"),
    ],
}


@pytest.mark.parametrize(
    ("one", "other"), [pair for pairs in FACTS.values() for pair in pairs], ids=str
)
def test_what_carries_a_fact_keeps_two_texts_apart(one: str, other: str) -> None:
    assert both_ways(one, other) == {False}


@pytest.mark.parametrize(
    ("one", "other"), [pair for pairs in SAME.values() for pair in pairs], ids=str
)
def test_what_carries_none_does_not(one: str, other: str) -> None:
    assert both_ways(one, other) == {True}
    assert fingerprint(one) == fingerprint(other)
