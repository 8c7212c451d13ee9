"""Which pieces of a multilingual vocabulary the frequent words of the common languages need."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice

from attrs import evolve
from tokenizers import Tokenizer

from benchmarks.tools.export.source import Source

LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs"),
    *("ro", "hu", "tr", "ru", "uk", "el", "ar", "hi", "ja", "ko", "zh", "vi", "id"),
)
_WORDS = 100_000
# The lists are in small letters; so many of the words begin a sentence, or are names.
_CAPITALIZED = 0.15
# Without spaces, most words stand behind another word, and so without the mark of a space.
_UNSPACED = ("ja", "zh")
# A list of words does not count single characters, numbers and signs as they stand in texts, nor
# pieces of two words, which kana and Hangul often are.
_ALWAYS = re.compile("\u2581?.|[\\W\\d_]+|.*[\u3040-\u30ff\uac00-\ud7a3].*")


def measure_shares(tokenizer: Tokenizer) -> dict[int, float]:
    """Return the largest share of each piece, by its number, in the words of any language.

    The words are the 100,000 most frequent of each language, by the package wordfreq.
    """
    shares: defaultdict[int, float] = defaultdict(float)
    for language in LANGUAGES:
        counts: Counter[int] = Counter()
        forms, weights = zip(*_list_forms(language), strict=True)
        encodings = tokenizer.encode_batch(forms, add_special_tokens=False)
        for encoding, weight in zip(encodings, weights, strict=True):
            for number in encoding.ids:
                counts[number] += weight
        total = sum(counts.values())
        for number, count in counts.items():
            shares[number] = max(shares[number], count / total)
    return shares


def _list_forms(language: str) -> Iterator[tuple[str, float]]:
    """Yield the frequent words of a language as they stand in texts, with their frequencies."""
    from wordfreq import get_frequency_dict

    for word, frequency in islice(get_frequency_dict(language).items(), _WORDS):
        yield word, frequency
        if word.capitalize() != word:
            yield word.capitalize(), frequency * _CAPITALIZED
        if language in _UNSPACED:
            yield f"a{word}", frequency


def prune_vocabulary(source: Source, shares: Mapping[int, float], size: int) -> Source:
    """Return `source` with at most `size` pieces, renumbered in the same order.

    Kept are the special tokens, single characters, numbers, signs, kana and Hangul; then the pieces
    with the largest shares. Every other text is made of the pieces that are left.
    """
    fields = json.loads(source.tokenizer)
    pieces = fields["model"]["vocab"]
    always = {token["id"] for token in fields["added_tokens"]}
    always |= {number for number, (piece, _) in enumerate(pieces) if _ALWAYS.fullmatch(piece)}
    ranks = {**shares, **dict.fromkeys(always, math.inf)}
    kept = sorted(sorted(ranks, key=lambda number: (-ranks[number], number))[:size])
    fields["model"]["vocab"] = [pieces[number] for number in kept]
    words = "embeddings.word_embeddings.weight"
    return evolve(
        source,
        weights={**source.weights, words: source.weights[words][kept]},
        shape=evolve(source.shape, vocabulary=len(kept)),
        tokenizer=json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n",
    )
