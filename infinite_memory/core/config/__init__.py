"""The configuration, merged from a file, the environment and the command line."""

from infinite_memory.core.config.attachments import Attachments
from infinite_memory.core.config.conversations import ShortTerm
from infinite_memory.core.config.dreamer import Dreamer, JudgeName
from infinite_memory.core.config.loading import (
    CONFIG_FILE,
    PASSPHRASE_VARIABLE,
    Effective,
    environment_name,
    keys,
    load,
)
from infinite_memory.core.config.projects import Chunking, Projects, RepositoryRules
from infinite_memory.core.config.sections import (
    CPU_PROVIDER,
    Audit,
    Config,
    Limits,
    Logging,
    SearchDefaults,
    find_default_home,
)
from infinite_memory.core.config.upkeep import Retention, ScopeRules, Summaries, Upkeep

__all__ = [
    "CONFIG_FILE",
    "CPU_PROVIDER",
    "PASSPHRASE_VARIABLE",
    "Attachments",
    "Audit",
    "Chunking",
    "Config",
    "Dreamer",
    "Effective",
    "JudgeName",
    "Limits",
    "Logging",
    "Projects",
    "RepositoryRules",
    "Retention",
    "ScopeRules",
    "SearchDefaults",
    "ShortTerm",
    "Summaries",
    "Upkeep",
    "environment_name",
    "find_default_home",
    "keys",
    "load",
]
