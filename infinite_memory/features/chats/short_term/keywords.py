"""The keywords of messages, and their weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from infinite_memory.core.config import ShortTerm
from infinite_memory.core.protocols import Segmenter
from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.features.chats.log.trivial import is_trivial

_DIGITS = 4


@frozen(kw_only=True)
class DocumentFrequencies:
    """In how many memories of a conversation each word is a keyword, of `memories` in all."""

    memories: int = 0
    counts: Mapping[str, int] = field(factory=dict)

    @classmethod
    def of(cls, keywords: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Count the words of memories, given the keywords of each."""
        counts: Counter[str] = Counter()
        memories = 0
        for words in keywords:
            # A mapping would add its values.
            counts.update(set(words))
            memories += 1
        return cls(memories=memories, counts=counts)

    def inverse(self, word: str, prior: int) -> float:
        """Return ln((memories + prior) / (memories with the word + 1)).

        It is the inverse document frequency, as if the conversation had begun with `prior` memories
        without the word, so that the words of a first message already have weights.
        """
        return math.log((self.memories + prior) / (self.counts.get(word, 0) + 1))


def find_keywords(
    messages: Sequence[ChatMessage],
    segmenter: Segmenter,
    frequencies: DocumentFrequencies,
    constants: ShortTerm,
    role_weights: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the keywords of messages with their weights, the greatest weight first.

    The weight of a word is the sum over all messages of

        keyword_factor · tf · idf · weight of the role,

    where tf is the share of the word in the words of the message, and at least 1 of `counted_words`
    words, and idf is `DocumentFrequencies.inverse`. The words are those of `segmenter`, without
    stop words. Messages that say nothing, such as "ok", have no keywords. Of all words of at least
    `least_weight`, `most_keywords` are kept; of equal weights the word with the greater share, then
    the word that comes first by code point. Weights are rounded to four decimals. `role_weights`
    replace those of the constants for the roles that they name.

    TF-IDF times 5, the weights of the roles, the number of keywords and the least weight are those
    of memory-mcp-server (https://github.com/win10ogod/memory-mcp-server), whose idf is the table of
    jieba; the least share, which keeps the keywords of a long message, is ours.
    """
    by_role = {**constants.role_weights, **(role_weights or {})}
    least_share = 1 / constants.counted_words
    weights: dict[str, float] = {}
    shares: dict[str, float] = {}
    for message in messages:
        if is_trivial(message.content):
            continue
        words = segmenter.segment(message.content)
        scale = constants.keyword_factor * by_role.get(message.role, 1.0)
        for word, count in Counter(words).items():
            share = count / len(words)
            idf = frequencies.inverse(word, constants.prior_memories)
            weights[word] = weights.get(word, 0.0) + scale * max(share, least_share) * idf
            shares[word] = shares.get(word, 0.0) + share
    rounded = {word: round(weight, _DIGITS) for word, weight in weights.items()}
    kept = [(word, w) for word, w in rounded.items() if w >= constants.least_weight]
    kept.sort(key=lambda pair: (-pair[1], -shares[pair[0]], pair[0]))
    return dict(kept[: constants.most_keywords])
