"""Finds the scopes that a question names, by the form of the mention.

"health check of the load balancer" has the word `health` and does not mean the scope `health`. The
following forms mean the scope; letter case is ignored unless a rule says otherwise:

- `#health` and `` `health` ``, and a question that is nothing but the name;
- "scope health", "the health scope";
- a name that does not look like an ordinary word: with a digit, with a character of `-_./:` inside,
  or, in the same letter case, with a capital inside;
- "in health" and "project apollo" at the end of a clause, "in the health project", and in Chinese
  健康里;
- a capital inside a sentence, unless it begins a longer name ("Home Depot", "Apollo 13"), or the
  question has hardly a word in small letters. German capitalises all nouns, so there the name must
  follow "in" directly. The caller also considers how often the searched memories use the word.

A name that reads as a time ("May", "2024") needs one of the first two forms. A name of a single
character, or of digits, needs `#`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import groupby, pairwise

from attrs import field, frozen

from infinite_memory import times
from infinite_memory.core.clock import Clock
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Search, SupportsTermCounts
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Arm, Question
from infinite_memory.core.values.scope import Scope
from infinite_memory.search.text.analyzer import foreign_languages, word_spans
from infinite_memory.search.text.languages import function_words
from infinite_memory.search.text.word_lists import stop_words


class Evidence(IntEnum):
    """How strongly the form of a mention shows that the scope is meant, strongest last."""

    NONE = 0
    CAPITAL = 1
    FORM = 2
    EXPLICIT = 3


@frozen(kw_only=True)
class Mention:
    """A name or keyword of a scope in a question; `name` is its spelling in the question."""

    scope: str
    name: str
    evidence: Evidence
    start: int
    end: int

    @property
    def is_certain(self) -> bool:
        """Whether the form of the mention alone shows that the scope is meant."""
        return self.evidence > Evidence.CAPITAL


@frozen
class _Token:
    folded: str
    start: int
    end: int


@frozen
class _Alias:
    scope: str
    written: str
    words: tuple[str, ...]

    @property
    def needs_tag(self) -> bool:
        return len(self.written) == 1 or self.written.isdigit()


_CLAUSE_END = r"\s*(?:$|[?!,;()\[\]{}»”\"…。、」』《》]|[.:](?!\w)|\s[-–—]\s|—)"
_PROJECT = r"(?:proje[ck]t|projet|proyecto|progetto|projeto|项目)"
_TAG_ENDS = re.compile(r"(?!\w|[-_./:]\w)")
_TAG_BEGINS = re.compile(r"(?:^|[^\w#])#$")
_NAME_BEGINS = re.compile(r"(?:^|[^\w./:\\@#-])$")
_BEHIND_SCOPE = re.compile(r"(?<!\w)scope:?\s+[\"“„'«]?$", re.IGNORECASE)
_BEFORE_SCOPE = re.compile(r"[\"”“'»]?\s+scope\b|范围(?=[里中内裡])", re.IGNORECASE)
_BEHIND_PROJECT = re.compile(rf"(?<!\w){_PROJECT}\s+$", re.IGNORECASE)
_BEFORE_PROJECT = re.compile(rf"\s+{_PROJECT}\b", re.IGNORECASE)
_BEHIND_IN = re.compile(r"(?<![\w'’-])(in|within|dans|en|em)\s+$", re.IGNORECASE)
_BEHIND_IN_THE = re.compile(r"(?<![\w'’-])(?:in|within)\s+the\s+$", re.IGNORECASE)
_CLAUSE_ENDS = re.compile(_CLAUSE_END)
_BEFORE_IN = re.compile(rf"[里裡]面?(?:有|{_CLAUSE_END})")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:;…。！？；\n])[\s\"“„'«(\[¿¡*>-]*$")
_IDENTIFIER = re.compile(r"\w[-_./:]+\w|[^\W\d_]\d|\d[^\W\d_]")
_INNER_CAPITAL = re.compile(r"\w[A-Z]")
_JOINED = re.compile(r"\s{0,2}|[-_./:\\@&'’+]{1,2}|\s[&-]\s")
_SAME_NAME = re.compile(r"[ \u00a0]|[-&]|\s&\s")
_PRONOUN = "i"
# A capitalised name opens no scope if more memories than this number and this share contain it.
_FREQUENT_FROM = 5
_FREQUENT_SHARE = 0.02


class ScopeNames:
    """The names and keywords of scopes, prepared for a search in questions."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        """Prepare the names of `scopes`."""
        self._by_first_word: defaultdict[str, list[_Alias]] = defaultdict(list)
        for scope in scopes:
            for name in (scope.name, *scope.keywords):
                written = unicodedata.normalize("NFKC", name)
                words = tuple(word for word, _, _ in word_spans(written))
                if words:
                    self._by_first_word[words[0]].append(_Alias(scope.name, written, words))

    def mentions(self, question: str, names_time: Callable[[str], bool]) -> list[Mention]:
        """Return the mentions of the scopes in `question`, without names within longer mentions.

        `names_time` returns whether a name reads as a time.
        """
        text = _Text.of(unicodedata.normalize("NFKC", question))
        mentions = sorted(self._find_mentions(text, names_time), key=lambda found: found.start)
        kept: list[Mention] = []
        reach = -1  # the end of the longest mention with evidence that begins earlier
        for _, together in groupby(mentions, key=lambda found: found.start):
            group = list(together)
            longest = max((found.end for found in group if found.evidence), default=-1)
            kept += [found for found in group if found.end > reach and found.end >= longest]
            reach = max(reach, longest)
        return kept

    def _find_mentions(self, text: _Text, names_time: Callable[[str], bool]) -> Iterator[Mention]:
        for first, token in enumerate(text.tokens):
            for alias in self._by_first_word.get(token.folded, ()):
                last = first + len(alias.words) - 1
                if not text.has_words(alias.words, first):
                    continue
                place = _Place(text=text, alias=alias, first=first, last=last)
                evidence = place.evidence()
                if Evidence.NONE < evidence < Evidence.EXPLICIT and names_time(alias.written):
                    evidence = Evidence.NONE
                yield Mention(
                    scope=alias.scope,
                    name=place.name,
                    evidence=evidence,
                    start=place.start,
                    end=place.end,
                )


class ScopeNameCache:
    """Finds the scopes that a question names, with the names of the last call. Thread-safe."""

    def __init__(self, config: Config, clock: Clock, open_index: Callable[[], Search]) -> None:
        """Begin without names; a name that may be a word is looked up in the index."""
        self._config = config
        self._clock = clock
        self._open_index = open_index
        self._last: tuple[Mapping[str, Scope], ScopeNames] | None = None

    def find_named(
        self,
        question: str,
        scopes: Mapping[str, Scope],
        may_name: Callable[[Scope], bool],
        searched: frozenset[str],
    ) -> tuple[set[str], set[str]]:
        """Return the scopes that a question means, and those that it may mean.

        Left out are those that it `may_name` not, and those that are `searched` anyway.
        """
        last = self._last
        # Fast if nothing has changed, because the values are the same objects.
        if last is None or last[0] != scopes:
            names = ScopeNames(filter(may_name, scopes.values()))
            self._last = last = dict(scopes), names
        mentions = [
            mention
            for mention in last[1].mentions(question, self._reads_as_time)
            if mention.scope not in searched
        ]
        opened = {mention.scope for mention in mentions if mention.is_certain}
        capitals = {(mention.scope, mention.name) for mention in mentions if mention.evidence}
        opened |= {
            scope
            for scope, name in capitals
            if scope not in opened and not self._is_frequent(name, searched)
        }
        return opened, {mention.scope for mention in mentions} - opened

    def _reads_as_time(self, name: str) -> bool:
        zone, week_start = self._config.time_zone, self._config.week_start
        try:
            times.read_range(name, now=self._clock(), zone=zone, week_start=week_start)
        except InvalidInput:
            return False
        return True

    def _is_frequent(self, name: str, searched: frozenset[str]) -> bool:
        """Return whether so many memories in `searched` have a name that it identifies no scope."""
        index, criteria = self._open_index(), Criteria(scopes=searched)
        if isinstance(index, SupportsTermCounts):
            holding, total = index.count_holding(name, criteria)
        else:
            words = frozenset({Arm.WORDS})
            ranking = index.search(
                Question(text=name, criteria=criteria, limit=1, threshold=0.0, arms=words)
            )
            holding, total = ranking.matches, ranking.eligible
        return holding > max(_FREQUENT_FROM, _FREQUENT_SHARE * total)


@frozen
class _Text:
    """A question and its words; what is said of the whole is found once for all its mentions."""

    whole: str
    tokens: Sequence[_Token]

    @classmethod
    def of(cls, whole: str) -> _Text:
        return cls(whole, [_Token(*span) for span in word_spans(whole)])

    def has_words(self, words: Sequence[str], first: int) -> bool:
        """Return whether `words` begin at token `first`, joined like the words of a name."""
        tokens = self.tokens[first : first + len(words)]
        return [token.folded for token in tokens] == list(words) and all(
            _JOINED.fullmatch(self.whole, left.end, right.start) for left, right in pairwise(tokens)
        )

    def is_capital(self, number: int) -> bool:
        return self.whole[self.tokens[number].start].isupper()

    def begins_sentence(self, number: int) -> bool:
        """Return whether this token begins a sentence, so that its capital means nothing."""
        start = self.tokens[number].start
        return bool(_SENTENCE_BEGINS.search(self.whole, max(0, start - 20), start))

    @cached_property
    def has_characters_without_case(self) -> bool:
        return any(token.folded and not _has_case(token.folded) for token in self.tokens)

    @cached_property
    def distinguishes_case(self) -> bool:
        """Whether the text uses small letters, unlike a title or a text in capitals."""
        numbers = [n for n, token in enumerate(self.tokens) if token.folded != _PRONOUN]
        capitals = sum(self.is_capital(n) and not self.begins_sentence(n) for n in numbers)
        small = sum(not self.is_capital(n) for n in numbers)
        return small > 0 and 2 * small >= capitals

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return foreign_languages(self.whole)

    @cached_property
    def may_be_german(self) -> bool:
        """Whether the text is German, or a short text more German than English."""
        german = function_words("german")
        words = [token.folded for token in self.tokens]
        speaking_for = sum(word in german - stop_words() for word in words)
        speaking_against = sum(word in stop_words() - german for word in words)
        return "german" in self.languages or speaking_for > speaking_against


@frozen(kw_only=True)
class _Place:
    """The position of a name in a question, from token `first` to token `last`."""

    text: _Text
    alias: _Alias
    first: int
    last: int
    start: int = field(init=False)
    end: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "start", self.text.tokens[self.first].start)
        object.__setattr__(self, "end", self.text.tokens[self.last].end)

    @property
    def name(self) -> str:
        return self.text.whole[self.start : self.end]

    def evidence(self) -> Evidence:
        if self._is_tag():
            return Evidence.EXPLICIT
        if self.alias.needs_tag:
            return Evidence.NONE
        if self._is_alone() or self._is_code() or self._is_called_scope():
            return Evidence.EXPLICIT
        if self._is_identifier() or self._is_project() or self._is_in():
            return Evidence.FORM
        return Evidence.CAPITAL if self._has_telling_capital() else Evidence.NONE

    def _behind(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of a pattern, which ends with "$", in the text before the name."""
        return pattern.search(self.text.whole, max(0, self.start - 40), self.start)

    def _before(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self.text.whole, self.end) is not None

    def _is_tag(self) -> bool:
        return bool(self._behind(_TAG_BEGINS)) and self._before(_TAG_ENDS)

    def _is_code(self) -> bool:
        whole = self.text.whole
        return whole[self.start - 1 : self.start] == "`" == whole[self.end : self.end + 1]

    def _is_alone(self) -> bool:
        return self.last - self.first + 1 == len(self.text.tokens)

    def _is_called_scope(self) -> bool:
        return self._before(_BEFORE_SCOPE) or bool(self._behind(_BEHIND_SCOPE))

    def _is_project(self) -> bool:
        if self._behind(_BEHIND_PROJECT):
            return self._before(_CLAUSE_ENDS)
        return bool(self._behind(_BEHIND_IN_THE)) and self._before(_BEFORE_PROJECT)

    def _is_in(self) -> bool:
        if self._before(_BEFORE_IN):
            return True
        preposition = self._behind(_BEHIND_IN)
        if preposition is None or not self._before(_CLAUSE_ENDS):
            return False
        # "en" is how Spanish says it; French says it of states: "en voyage".
        return preposition[1].casefold() != "en" or "french" not in self.text.languages

    def _is_identifier(self) -> bool:
        written, name = self.alias.written, self.name
        if not (self._behind(_NAME_BEGINS) and self._before(_TAG_ENDS)):
            return False
        if " " not in written and _IDENTIFIER.search(written):
            return name.casefold() == written.casefold()
        return (
            name == written
            and bool(_INNER_CAPITAL.search(written.replace(" ", "")))
            and " " not in written
            and self.text.distinguishes_case
        )

    def _has_telling_capital(self) -> bool:
        text, numbers = self.text, range(self.first, self.last + 1)
        capitals = [number for number in numbers if text.is_capital(number)]
        if len(capitals) < len(numbers) and self.name != self.alias.written:
            return False
        caseless = text.has_characters_without_case
        if not caseless:
            capitals = [number for number in capitals if not text.begins_sentence(number)]
        if not capitals or self._is_part_of_longer_name():
            return False
        if text.may_be_german:
            preposition = self._behind(_BEHIND_IN)
            return preposition is not None and preposition[1].casefold() == "in"
        return caseless or text.distinguishes_case

    def _is_part_of_longer_name(self) -> bool:
        text, last = self.text, self.last
        if self.first and not self._behind(_BEHIND_PROJECT):
            earlier = self.first - 1
            gap = text.whole[text.tokens[earlier].end : self.start]
            if (
                _SAME_NAME.fullmatch(gap)
                and text.is_capital(earlier)
                and not text.begins_sentence(earlier)
                and text.tokens[earlier].folded != _PRONOUN
            ):
                return True
        if last + 1 == len(text.tokens) or self._before(_BEFORE_PROJECT):
            return False
        later = text.tokens[last + 1]
        return bool(_SAME_NAME.fullmatch(text.whole, self.end, later.start)) and (
            (text.is_capital(last + 1) and later.folded != _PRONOUN) or later.folded[0].isdigit()
        )


def _has_case(word: str) -> bool:
    return word.lower() != word.upper() or word.isdigit()
