"""How well code is found again, and Chinese that is mixed with code.

    python -m benchmarks.code [--folder FOLDER]

The labelled sets are made on the spot from the source of the standard library that runs this, and
differ a little from one version of Python to the next. `code`: a memory is a function as an
assistant would note it: path, qualified name, signature and body, without the docstring. It is
asked for by what it does, by its name in the ways in which people type one, by the error it raises,
and by its file. `mixed`: a memory is a Chinese sentence that holds a name, an error, a version or a
path. `--folder` keeps the sets, so that `benchmarks.ablation` can be run on them.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import ingest, open_store, questions
from benchmarks.metrics import interval, measure
from benchmarks.retrieval import ARMS
from benchmarks.vector_cache import open_model
from infinite_memory import MemoryStore

_MODULES = (
    *("argparse", "ast", "asyncio", "bdb", "calendar", "cmd", "codecs", "collections"),
    *("concurrent", "configparser", "contextlib", "copy", "csv", "ctypes", "datetime", "difflib"),
    *("dis", "doctest", "email", "fileinput", "fractions", "ftplib", "functools", "getpass"),
    *("gettext", "gzip", "heapq", "hmac", "html", "http", "imaplib", "importlib", "inspect", "io"),
    *("ipaddress", "json", "linecache", "locale", "logging", "lzma", "mailbox", "mimetypes"),
    *("multiprocessing", "netrc", "operator", "os", "pathlib", "pdb", "pickle", "pkgutil"),
    *("platform", "plistlib", "poplib", "pprint", "profile", "queue", "random", "sched"),
    *("selectors", "shelve", "shlex", "shutil", "smtplib", "socket", "socketserver", "ssl"),
    *("statistics", "string", "subprocess", "sysconfig", "tarfile", "tempfile", "textwrap"),
    *("threading", "timeit", "tokenize", "trace", "traceback", "types", "typing", "unittest"),
    *("urllib", "uuid", "warnings", "wave", "weakref", "webbrowser", "xml", "xmlrpc", "zipfile"),
)
_MEMORIES = 1500
_ASKED_EACH = 250
_LONGEST = 1000
_FEWEST_WORDS = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Set = tuple[list[dict[str, Any]], list[tuple[str, str, Sequence[str]]]]
"""The rows of a corpus; and questions: the category, the text, the ids of what answers it."""


@frozen(kw_only=True)
class Function:
    """A function of the standard library: `name` is qualified within its file."""

    path: str
    name: str
    text: str
    does: str
    errors: tuple[str, ...]

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


def functions() -> list[Function]:
    """Return the public functions with a docstring, at most 1,500, spread over the modules."""
    library = Path(sysconfig.get_path("stdlib"))
    found: dict[tuple[str, str], Function] = {}
    for module in _MODULES:
        single = library / f"{module}.py"
        files = [single] if single.exists() else sorted((library / module).rglob("*.py"))
        for file in files:
            path = file.relative_to(library).as_posix()
            if "/test" not in path and "__main__" not in path:
                tree = ast.parse(file.read_text(encoding="utf-8"))
                # Of functions of one name in one class (a property and its setter), the first.
                for one in _within(tree, path, ""):
                    found.setdefault((one.path, one.name), one)
    return _spread(list(found.values()), _MEMORIES)


def _within(node: ast.AST, path: str, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _within(child, path, f"{prefix}{child.name}.")
        elif isinstance(child, _FUNCTIONS) and not child.name.startswith("_"):
            does = _first_sentence(ast.get_docstring(child) or "")
            if len(does.split()) >= _FEWEST_WORDS:
                yield _function(child, path, f"{prefix}{child.name}", does)


def _function(node: ast.stmt, path: str, name: str, does: str) -> Function:
    assert isinstance(node, _FUNCTIONS)
    node.body = node.body[1:] or [ast.Pass()]
    text = f"{path}\n{name}\n{ast.unparse(node)}"[:_LONGEST]
    return Function(path=path, name=name, text=text, does=does, errors=tuple(_errors(node, text)))


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph)[0]


def _errors(node: ast.AST, text: str) -> Iterator[str]:
    """Yield the messages of the errors that are raised in `text`, as they would be printed."""
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Raise) or not isinstance(inner.exc, ast.Call):
            continue
        call = inner.exc
        message = _printed(call.args[0]) if call.args else ""
        if len(message.split()) >= _FEWEST_WORDS and ast.unparse(call) in text:
            yield f"{ast.unparse(call.func).rpartition('.')[2]}: {message}"


def _printed(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[-\d.]*[a-z]", "spam", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_printed(v) if isinstance(v, ast.Constant) else "spam" for v in node.values)
    if isinstance(node, ast.BinOp):
        return _printed(node.left)
    return ""


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Return at most `count` of `items`, evenly spread over them, in order."""
    if len(items) <= count:
        return list(items)
    return [items[i * len(items) // count] for i in range(count)]


def code_set(found: Sequence[Function]) -> Set:
    """Return the functions as memories, and what is asked about them."""
    corpus = [{"id": f"f{i}", "group": "code", "text": one.text} for i, one in enumerate(found)]
    numbered = list(enumerate(found))
    asked: list[tuple[str, str, Sequence[str]]] = []
    asked += [("what it does", one.does, [f"f{i}"]) for i, one in numbered]
    names = Counter(one.last.lower().replace("_", "") for one in found)
    for i, one in numbered:
        if names[one.last.lower().replace("_", "")] == 1 and "_" in one.last:
            asked += [(kind, name, [f"f{i}"]) for kind, name in _spellings(one).items()]
    messages = Counter(error for one in found for error in one.errors)
    asked += [
        ("error", error, [f"f{i}"])
        for i, one in numbered
        for error in one.errors[:1]
        if messages[error] == 1
    ]
    files: dict[str, list[str]] = defaultdict(list)
    for i, one in numbered:
        files[one.path].append(f"f{i}")
    for path, ids in files.items():
        if len(ids) <= 10:
            asked.append(("path", f"what is in {path}?", ids))
            asked.append(("module", f"functions of {found[int(ids[0][1:])].module}", ids))
    return corpus, _each_kind(asked)


def _spellings(one: Function) -> dict[str, str]:
    """Return the name of a function as people type it, by what they do with it."""
    first, *others = one.last.strip("_").split("_")
    camel = "".join(part.title() for part in others)
    return {
        "name, as it is": one.last,
        "name, as words": " ".join((first, *others)),
        "name, in CamelCase": first.title() + camel,
        "name, in mixedCase": first + camel,
        "name, qualified": f"{one.module}.{one.name}",
        "name, in a sentence": f"how did we use {one.last}() in the importer?",
    }


_TOPICS = tuple(
    "登录页面 支付回调 日志轮转 缓存失效 数据迁移 报表导出 邮件发送 文件上传 "
    "权限检查 定时任务 搜索排序 消息队列 图片压缩 会话超时 配置加载 接口限流".split()
)
_NOTES = (
    "{topic}里用{name}处理输入，后来改成异步",
    "昨天在{topic}遇到{error}，原因是没有检查空值",
    "{topic}升级到v{version}以后恢复正常",
    "{topic}的代码在{path}，由小王维护",
)
_KINDS = ("name", "error", "version", "path")
_ASKED = (
    "{name}是在哪里用的？",
    "{topic}的{error}是怎么解决的？",
    "哪个功能升级到了{version}？",
    "{file}是谁在维护？",
)
_ERRORS = ("TypeError", "KeyError", "ValueError", "TimeoutError", "ECONNREFUSED", "HTTP 404")


def mixed_set(found: Sequence[Function]) -> Set:
    """Return Chinese notes about code, and Chinese questions to each.

    Names are asked for as they stand and as words, versions without their "v", and paths by the
    name of the file.
    """
    corpus: list[dict[str, Any]] = []
    asked: list[tuple[str, str, Sequence[str]]] = []
    names = Counter(one.last for one in found)
    files = Counter(one.path.rpartition("/")[2] for one in found)
    named = [one for one in found if names[one.last] == 1 and "_" in one.last][:_ASKED_EACH]
    paths = sorted({one.path for one in found if files[one.path.rpartition("/")[2]]})
    paths = [p for p in paths if sum(q.endswith("/" + Path(p).name) for q in paths) == 1]
    for i, one in enumerate(named):
        topic = _TOPICS[i % len(_TOPICS)]
        values = {
            "topic": topic,
            "name": one.last,
            "error": _ERRORS[i // len(_TOPICS) % len(_ERRORS)],
            "version": f"{1 + i // 100}.{i // 10 % 10}.{i % 10}",
            "path": f"src/{paths[i % len(paths)]}",
            "file": Path(paths[i % len(paths)]).name,
        }
        bounds = {"error": len(_TOPICS) * len(_ERRORS), "path": len(paths)}
        for kind, note, question in zip(_KINDS, _NOTES, _ASKED, strict=True):
            if i < bounds.get(kind, len(named)):
                row = f"{kind}{i}"
                text = note.format_map(values)
                corpus.append({"id": row, "group": "mixed", "text": text})
                asked.append((kind, question.format_map(values), [row]))
                if kind == "name":
                    spaced = {**values, "name": one.last.replace("_", " ")}
                    asked.append(("name, as words", question.format_map(spaced), [row]))
    return corpus, _each_kind(asked)


def _each_kind(asked: Sequence[tuple[str, str, Sequence[str]]]) -> Any:
    kinds: dict[str, list[tuple[str, str, Sequence[str]]]] = defaultdict(list)
    for one in asked:
        kinds[one[0]].append(one)
    return [one for group in kinds.values() for one in _spread(group, _ASKED_EACH)]


def write(folder: Path, made: Set) -> None:
    """Write a labelled set as `benchmarks.labelled_sets` reads it."""
    corpus, asked = made
    folder.mkdir(parents=True, exist_ok=True)
    group = corpus[0]["group"]
    _lines(folder / "corpus.jsonl", corpus)
    _lines(
        folder / "queries.jsonl",
        (
            {"id": f"q{i}", "group": group, "text": text, "category": kind}
            for i, (kind, text, _) in enumerate(asked)
        ),
    )
    _lines(
        folder / "qrels.jsonl",
        (
            {"query_id": f"q{i}", "doc_id": row, "score": 1}
            for i, (_, _, rows) in enumerate(asked)
            for row in rows
        ),
    )


def _lines(path: Path, rows: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def answer(store: MemoryStore, folder: Path) -> dict[str, dict[str, list[tuple[float, ...]]]]:
    """Return, by the kind of question and the arm, whether the first is right, R@10 and MRR@10."""
    results: dict[str, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    for query, relevant in questions(folder):
        for arm, settings in ARMS.items():
            hits = store.search(query["text"], scope=query["group"], limit=10, **settings)
            ids = [hit.memory.id for hit in hits]
            _, recall, mrr, _ = measure(ids, relevant)
            results[query["category"]][arm].append((float(mrr == 1), recall, mrr))
    return results


def report(results: Mapping[str, Mapping[str, Sequence[tuple[float, ...]]]]) -> None:
    print(f"{'':42}" + "".join(f"{metric:>24}" for metric in ("first is right", "R@10", "MRR@10")))
    for kind, by_arm in results.items():
        for arm, values in by_arm.items():
            cells = []
            for column in zip(*values, strict=True):
                low, high = interval(column)
                mean = 100 * sum(column) / len(column)
                cells.append(f"{mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]".rjust(24))
            print(f"{kind:20} {len(values):4} {arm:16}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, help="keep the sets here")
    arguments = parser.parse_args()
    print(describe_environment())
    print(f"Python {sys.version.split()[0]}, 95 % intervals by bootstrap, 2,000 draws")
    found, model = functions(), open_model()
    with tempfile.TemporaryDirectory() as scratch:
        for name, made in (("code", code_set(found)), ("mixed", mixed_set(found))):
            folder = (arguments.folder or Path(scratch)) / name
            write(folder, made)
            home = Path(scratch) / f"{name}.home"
            seconds = ingest(folder, home, model)
            print(f"\n{name}: {len(made[0])} memories in {seconds:.1f} s, {len(made[1])} questions")
            with open_store(home, model) as store:
                report(answer(store, folder))


if __name__ == "__main__":
    main()
