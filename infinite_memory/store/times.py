"""`store.times`: words of time, as this store reads them."""

from __future__ import annotations

from datetime import datetime

from infinite_memory.store.lifetime import Group


class Times(Group):
    """The reading of words of time by the clock and in the time zone of a store."""

    def read_happened(self, words: str) -> datetime:
        """Return the moment in UTC at which something happened: ISO 8601, or "last Tuesday".

        The moment of words is their start if they mean less than a day, and otherwise noon of the
        first day that they mean.

        Raises:
            InvalidInput: the words cannot be read.
        """
        from infinite_memory.times.moments import read_happened

        services = self._services
        config = services.config
        return read_happened(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )

    def read_start(self, words: str) -> datetime:
        """Return the first moment in UTC of a time in ISO 8601 or in words, such as "last week".

        Raises:
            InvalidInput: the words cannot be read, or the time has no beginning.
        """
        from infinite_memory.times.moments import read_start

        services = self._services
        config = services.config
        return read_start(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )

    def read_end(self, words: str) -> datetime:
        """Return the end in UTC of a time in ISO 8601 or in words; a day ends with its last moment.

        Raises:
            InvalidInput: the words cannot be read, or the time has no end.
        """
        from infinite_memory.times.moments import read_end

        services = self._services
        config = services.config
        return read_end(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )
