"""Words of time, in English and Chinese, read as half-open ranges."""

from infinite_memory.times.calendar import WeekStart
from infinite_memory.times.parser import read_as_of, read_range
from infinite_memory.times.sentences import find_range

__all__ = ["WeekStart", "find_range", "read_as_of", "read_range"]
