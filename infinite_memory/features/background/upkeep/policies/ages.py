"""The ages at which a retention archives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from attrs import frozen

from infinite_memory.core.config import Retention, Upkeep


@frozen(kw_only=True)
class Ages:
    """How old a conversation, an unused memory and noise must be; None keeps them for ever."""

    conversation: timedelta | None = None
    unused: timedelta | None = None
    noise: timedelta | None = None


_NOISE = timedelta(weeks=1)
_AGES: Mapping[Retention, Ages] = {
    Retention.KEEP_ALL: Ages(),
    Retention.MODERATE: Ages(
        conversation=timedelta(weeks=26), unused=timedelta(weeks=52), noise=_NOISE
    ),
    Retention.AGGRESSIVE: Ages(
        conversation=timedelta(weeks=4), unused=timedelta(weeks=12), noise=_NOISE
    ),
}


def ages_of(settings: Upkeep, scope: str) -> Ages:
    """Return the ages for a scope; none is below `min_age_weeks`."""
    ages = _AGES[settings.rules_of(scope).retention or settings.retention]
    lowest = timedelta(weeks=settings.min_age_weeks)

    def at_least(age: timedelta | None) -> timedelta | None:
        return None if age is None else max(age, lowest)

    return Ages(
        conversation=at_least(ages.conversation),
        unused=at_least(ages.unused),
        noise=at_least(ages.noise),
    )
