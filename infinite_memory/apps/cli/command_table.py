"""The commands by subject, with their summary and an example, so that --help loads no module."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen


@frozen
class CommandRow:
    """A command of the help: its summary, an example, and its file in `apps.cli.commands`."""

    summary: str
    example: str
    file: str


SECTIONS: Mapping[str, Mapping[str, CommandRow]] = {
    "Store and find": {
        "remember": CommandRow(
            "Store one memory, or many from a file.",
            'remember "The deadline of Apollo is June 5" --scope apollo --tag deadline',
            "remember",
        ),
        "search": CommandRow(
            "Find the memories that answer a question.",
            'search "when is Apollo due?" --scope apollo',
            "search",
        ),
        "know": CommandRow(
            "Tell what is known about a topic: summaries, then highlights.",
            "know Apollo --budget 500",
            "briefing",
        ),
        "recall": CommandRow(
            "Show what happened in a period, oldest first.", "recall last week", "recall"
        ),
        "why-not": CommandRow(
            "Say why a search does not return a memory.",
            'why-not 7c1d2e3f "when is Apollo due?"',
            "search",
        ),
        "briefing": CommandRow(
            "Print what an assistant should know at the start of a session.",
            "briefing --budget 800",
            "briefing",
        ),
        "show": CommandRow("Show one memory with all its fields.", "show 7c1d2e3f", "memories"),
        "list": CommandRow("List memories, newest first.", "list --tag deadline", "recall"),
        "dream": CommandRow(
            "Link what belongs together and write summaries of topics, now.",
            "dream --cycles 3",
            "graph.dream",
        ),
        "graph": CommandRow(
            "Show what belongs to a memory, link by hand, export the graph.",
            "graph related 7c1d2e3f",
            "graph.group",
        ),
    },
    "Correct and forget": {
        "revise": CommandRow(
            "Change a memory; the old revision is kept.",
            'revise 7c1d2e3f --revision 1 --text "The deadline of Apollo is June 6"',
            "memories",
        ),
        "share": CommandRow(
            "Move a memory into a scope that others see, or copy it there.",
            "share 7c1d2e3f --to team --copy",
            "memories",
        ),
        "not-useful": CommandRow(
            "Rank a memory lower for questions like this one.",
            'not-useful 7c1d2e3f "when is Apollo due?"',
            "search",
        ),
        "forget": CommandRow(
            "Remove memories from every result, or erase them.", "forget 7c1d2e3f", "forget"
        ),
        "undo": CommandRow(
            "Reverse a change, by default the last one made here.", "undo", "journal"
        ),
    },
    "History": {
        "history": CommandRow(
            "Show every revision of a memory, or every value of a key.",
            "history apollo/deadline",
            "memories",
        ),
        "conflicts": CommandRow(
            "List facts with the same key that contradict each other.", "conflicts", "memories"
        ),
        "log": CommandRow(
            "List the changes, newest first: who did what, and when.", "log --limit 5", "journal"
        ),
    },
    "People and scopes": {
        "profile": CommandRow("Show or change the profile of a user.", "profile", "profile"),
        "scopes": CommandRow("List, create, change and delete scopes.", "scopes", "scopes"),
        "keys": CommandRow(
            "Create, list, limit and revoke the access keys of a server.",
            'keys create anna --shared "team/*"',
            "keys",
        ),
    },
    "Conversations": {
        "conversations": CommandRow(
            "List conversations, read their messages, and forget them.",
            "conversations",
            "conversations.log",
        ),
        "today": CommandRow(
            "Print today, the days ahead and what is overdue.", "today", "conversations.today"
        ),
        "due": CommandRow(
            "List the reminders that are due, now or soon.", "due --days 3", "conversations.due"
        ),
        "done": CommandRow(
            "Store that reminders are done, or dropped.", "done 7c1d2e3f", "conversations.due"
        ),
        "inbox": CommandRow(
            "Say yes or no to what seems to command a model.",
            "inbox 7c1d2e3f --reject",
            "conversations.inbox",
        ),
        "triggers": CommandRow(
            "List long-term memories with their triggers, and enable them.",
            "triggers",
            "conversations.triggers",
        ),
    },
    "Work on repositories": {
        "ingest-session": CommandRow(
            "Cut sessions of coding assistants into pieces of work.",
            "ingest-session ~/.claude/projects --watch",
            "projects.sessions",
        ),
        "project": CommandRow(
            "Ask what was done and decided in a repository, or store it.",
            "project history github.com/octo/apollo",
            "projects.project",
        ),
        "insights": CommandRow(
            "Show how the work went: outcomes, time, problems that recur.",
            'insights --timeframe "last month"',
            "projects.insights",
        ),
    },
    "Assistants": {
        "connect": CommandRow(
            "Connect an assistant on this machine with the memory.", "connect cursor", "connect"
        ),
        "bundle": CommandRow(
            "Build a bundle for clients that install servers from a file.",
            "bundle ./build",
            "bundle",
        ),
    },
    "The store": {
        "web": CommandRow("Look into the memory in the browser.", "web", "serve"),
        "stats": CommandRow("Count the stored memories.", "stats", "maintenance"),
        "health": CommandRow(
            "Say whether the store works, and what to do if not.", "health", "health"
        ),
        "verify": CommandRow(
            "Check every record and the index, and report damage.", "verify", "maintenance"
        ),
        "serve": CommandRow(
            "Serve the memory over HTTP, for all clients of this machine.", "serve", "serve"
        ),
        "copy": CommandRow(
            "Copy everything into another store, and compare the two.",
            "copy ~/.infinite-memory ~/memory-copy",
            "copy",
        ),
        "backup": CommandRow(
            "Back up everything, and list, verify and delete backups.", "backup", "backup"
        ),
        "restore": CommandRow(
            "Bring back what a backup holds.",
            "restore 20260605T031500Z-1a2b3c4d.imarchive --merge",
            "backup",
        ),
        "export": CommandRow(
            "Write memories into a file or folder that other programs read.",
            "export memories.jsonl --scope apollo",
            "exchange",
        ),
        "import": CommandRow(
            "Store the memories of a file or folder, also of other products.",
            "import conversations.zip --scope chatgpt --dry-run",
            "exchange",
        ),
        "optimize": CommandRow(
            "Do the upkeep that is due: archive, link, back up, compact.",
            "optimize --dry-run",
            "upkeep",
        ),
        "worker": CommandRow(
            "Do the upkeep here, in place of the servers.", "worker --once", "upkeep"
        ),
        "embed": CommandRow("Embed the memories that have no vector yet.", "embed", "models"),
    },
    "The installation": {
        "config": CommandRow(
            "Print the settings in force and where each came from.", "config", "installation"
        ),
        "doctor": CommandRow(
            "Check the installation and the store, without changes.", "doctor", "installation"
        ),
        "model": CommandRow(
            "Show the embedding model, or change it.",
            "model use english",
            "models",
        ),
        "hook": CommandRow(
            "Do what a hook of a client does at an event.", "hook SessionStart", "hook"
        ),
        "completion": CommandRow(
            "Let the shell complete commands, scopes, tags and ids.",
            "completion install",
            "completion",
        ),
    },
}
"""The commands by subject, in the order of the help."""

COMMANDS: Mapping[str, CommandRow] = {
    name: row for rows in SECTIONS.values() for name, row in rows.items()
}
"""All commands by name."""

SUBCOMMAND_EXAMPLES: Mapping[str, str] = {
    "profile show": "profile show --user bob",
    "profile update": """profile update '{"city": "Bergen"}'""",
    "profile users": "profile users",
    "scopes list": "scopes list",
    "scopes create": 'scopes create apollo --description "The Apollo project"',
    "scopes update": "scopes update apollo --keyword rocket",
    "scopes delete": "scopes delete apollo",
    "project history": "project history github.com/octo/apollo --limit 5",
    "project decisions": "project decisions --component storage",
    "project problems": 'project problems "the login fails after an update" --when "last month"',
    "project solutions": "project solutions < build.log",
    "project related": 'project related "add a second storage" --file src/storage.py',
    "project patterns": "project patterns --all",
    "project decide": 'project decide "Use SQLite" --because "it needs no server"',
    "project learn": 'project learn "Tests hang on CI" "Give every socket a timeout" --tag ci',
    "project note": 'project note "The parser reads UTF-16" --type code_change --file parser.py',
    "dream diary": "dream diary --limit 3",
    "graph related": "graph related 7c1d2e3f --type intent --type meaning --limit 5",
    "graph links": "graph links 7c1d2e3f",
    "graph link": 'graph link 7c1d2e3f 9a8b7c6d --type intent --reason "why we move"',
    "graph unlink": "graph unlink 7c1d2e3f 9a8b7c6d",
    "graph export": "graph export 7c1d2e3f --to around-it.graphml",
    "conversations list": "conversations list --limit 20",
    "conversations show": "conversations show chat-1 --start 1",
    "conversations delete": "conversations delete chat-1",
    "triggers list": "triggers list --conversation holidays",
    "triggers enable": "triggers enable birthday",
    "triggers disable": "triggers disable birthday",
    "keys create": 'keys create laptop --rights write --scopes "team/*" --expires "in 90 days"',
    "keys list": "keys list",
    "keys limit": "keys limit anna --max-memories 10000 --calls-a-minute 60",
    "keys remove": "keys remove anna --export anna.jsonl",
    "keys revoke": "keys revoke laptop",
    "backup list": "backup list",
    "backup verify": "backup verify 20260605T031500Z-1a2b3c4d.imarchive",
    "backup delete": "backup delete 20260605T031500Z-1a2b3c4d.imarchive",
    "model use": "model use english",
    "model info": "model info",
    "completion install": "completion install bash",
    "completion remove": "completion remove bash",
    "completion show": "completion show zsh",
}
"""An example for each command of a group, by both names."""

OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("add", "save", "store"), "remember"),
    **dict.fromkeys(("find", "query", "ask"), "search"),
    **dict.fromkeys(("get", "view"), "show"),
    **dict.fromkeys(("ls", "recent"), "list"),
    **dict.fromkeys(("edit", "update"), "revise"),
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("status", "info"), "stats"),
}
"""What other programs call a command: each runs it, and no help lists it."""
