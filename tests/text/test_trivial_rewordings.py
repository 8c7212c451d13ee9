"""What anybody calls a trivial rewording is alike; what looks like one and is none is not."""

from __future__ import annotations

import pytest

from infinite_memory.text.likeness import alike, fingerprint


def both_ways(one: str, other: str) -> set[bool]:
    return {alike(one, other, together=True), alike(other, one, together=True)}


@pytest.mark.parametrize(
    "around",
    [
        *("'{}'", "«{}»", "[{}]", "`{}`", "_{}_", "‘{}’", "> {}", "# {}", "### {}"),
        *("\ufeff{}", "\u200b{}", "{}.", "{}. Thanks!", "{}. Please remember this.", "{} (FYI)"),
        *(
            "{}, please.",
            "{}, by the way",
            "{} :)",
            "{}. 🙂",
            "{}. Just so you know.",
            "{}. Noted.",
        ),
        *("Again: {}", "Keep in mind: {}", "Just to let you know, {}", "Heads-up: {}", "P.S. {}"),
        *("Please remember this: {}", "Save this to your memory: {}", "In short, {}", "Memo: {}"),
        *("For future reference, {}", "Like I said, {}", "A reminder that {}", "Fact: {}"),
        *("It is important to note that {}", "Please keep in mind that {}", "Anyway, {}"),
        *("FYI: note that {}", "> Note: {}. Thanks.", "Let me tell you: {}", "{} - remember this"),
    ],
)
def test_what_stands_around_a_sentence_changes_nothing(around: str) -> None:
    plain = "Bob's team has moved to Rome"
    assert both_ways(plain, around.format(plain)) == {True}
    assert fingerprint(plain) == fingerprint(around.format(plain))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bob is on the co-op board", "Bob is on the co\u2010op board"),
        ("It is \u22125 degrees in Rome", "It is -5 degrees in Rome"),
        ("Read pages 10\u201320 of it", "Read pages 10-20 of it"),
        ("The dead\u00adline is on March 3", "The deadline is on March 3"),
        ("The \ufb01le is in Rome", "The file is in Rome"),
        ("Ｔｈｅ ｐｌａｎ， ５ ｄａｙｓ， ｉｓ ｓｅｔ", "The plan, 5 days, is set"),
        ("用Ｐｙｔｈｏｎ３", "用Python3"),
        ("He said ‘yes’ to it", "He said 'yes' to it"),
        ("Bob´s dog is called Rex", "Bob's dog is called Rex"),
        ("他说「好」", "他说“好”"),
        ("I dont eat meat", "I do not eat meat"),
        ("Don't call Bob", "do not call Bob"),
        ("We'll meet Bob", "We will meet Bob"),
        ("It's important to Bob", "It is important to Bob"),
        ("He's not coming", "He isn't coming"),
        ("I'd like to see Rome", "I would like to see Rome"),
        ("Please call Bob at noon", "Call Bob at noon"),
        ("The wifi is down", "The Wi-Fi is down"),
        ("My co-worker has a long term plan", "My coworker has a long-term plan"),
        ("The licence of the café", "The license of the cafe"),
        ("The tax is 19 per cent", "The tax is 19%"),
        ("It weighs 5 kilograms", "It weighs 5kg"),
        ("The job takes 30 s", "The job takes 30 seconds"),
        ("Tom owes me 20 dollars", "Tom owes me $20"),
        ("It costs 5 EUR", "It costs 5 euros"),
        ("The U.S. office of Acme Corp. is shut", "The US office of Acme Corp is shut"),
        ("It is due on the 1st", "It is due on 1st"),
        ("The server's limit is set", "Server's limit is set"),
        ("Bob is tall, and Ann is small", "Bob is tall and Ann is small"),
        ("We meet on Monday, March 3", "We meet on Monday March 3"),
        ("Bob & Ann's shop is shut", "Bob and Ann's shop is shut"),
        (
            "The deadline of project Apollo was moved\nto the third of March.",
            "The deadline of project Apollo was moved to the third of March.",
        ),
        ("請記住，我對花生過敏", "我对花生过敏"),
        ("會議改到星期天", "会议改到礼拜天"),
        ("折扣是百分之十五", "折扣是15%"),
        ("我有两只猫", "我有2只猫"),
        ("我的妈妈是老师", "我妈妈是老师"),
        ("门票5块钱", "门票5元"),
        ("请帮我记住：我住在北京", "我住在北京。请记住。"),
        ("别忘了，我住在北京", "我住在北京，谢谢。"),
        ("请记住我对花生过敏", "我对花生过敏。"),
    ],
)
def test_what_is_only_written_otherwise_is_alike(one: str, other: str) -> None:
    assert both_ways(one, other) == {True}
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- 5 degrees in Rome", "5 degrees in Rome"),
        ("> Five people came to it", "Five people came to it"),
        ("> 五个人来了", "五个人来了"),
        ("# git push it", "git push it"),
        ("[a b c]", "a b c"),
        ("Again, Bob left us", "Bob left us"),
        ("PS 5 is my console", "5 is my console"),
        ("Forget that Bob left", "Bob left"),
        ("She always says hello, thanks", "She always says hello"),
        ("The channels are general, random, btw", "The channels are general, random"),
        ("I reacted with 🙂", "I reacted with"),
        ("The password is tiger. Thanks", "The password is tiger."),
        ("我说好，谢谢", "我说好"),
        ("The factorial 5!", "The factorial 5"),
        ("I can't", "I cant"),
        ("He's cut the grass", "He is cut the grass"),
        ("I'd cut it", "I would cut it"),
        ("Please don't call Bob", "Please call Bob"),
        ("The network is called Wi-Fi", "The network is called WiFi"),
        ("Grey called", "Gray called"),
        ("Ask Gray about it", "ask grey about it"),
        ("I met Harbour today", "i met harbor today"),
        ("Colour Inc is hot", "Color Inc is hot"),
        ("I have 5 dollar bills", "I have $5 bills"),
        ("It weighs 5 pounds", "It weighs £5"),
        ("It costs $5", "It costs 5 euros"),
        ("It takes 5 m", "It takes 5 minutes"),
        ("5 cents of it", "5 per cent of it"),
        ("No one is here, and Ann is ill", "No one is here and Ann is ill"),
        ("I like red, and white wine", "I like red and white wine"),
        ("A manager has to sign", "The manager has to sign"),
        ("Bring red\nwine glasses.", "Bring red wine glasses."),
        ("It is \u22125 degrees", "It is 5 degrees"),
        ("Write 5 kg, not 5 kilograms", "Write 5 kilograms, not 5 kg"),
        ("Write e-mail, not email", "Write email, not e-mail"),
        ("Write 1, not １", "Write １, not 1"),
        ("Write Ａ, not A", "Write A, not Ａ"),
        ("写两只，不写2只", "写2只，不写两只"),
        ("他姓鍾", "他姓鐘"),
        ("他姓範", "他姓范"),
        ("写記，不写记", "写记，不写記"),
        ("他一周三次", "他周三一次"),
        ("周天来了", "周日来了"),
        ("百分之五", "百分之五十"),
        ("爱你的妈妈", "爱你妈妈"),
        ("提醒他去开会", "他去开会"),
        ("注意安全第一条", "安全第一条"),
    ],
)
def test_what_looks_like_a_rewording_and_says_another_thing_is_not_alike(
    one: str, other: str
) -> None:
    assert both_ways(one, other) == {False}
