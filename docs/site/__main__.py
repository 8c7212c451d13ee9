"""Build the site of the documentation into `build/site`, or print a page of the reference.

python -m docs.site
python -m docs.site command-line

A warning, such as a link that leads nowhere, is an error. The pages need no network, neither here
nor in a browser: open `build/site/index.html`. It needs the extra `docs`, a printed page does not.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.pages import ROOT, stage_pages
from docs.site.reference import GENERATED, complete_page

OUTPUT = ROOT / "build" / "site"


def build_site(output: Path = OUTPUT) -> int:
    """Build the site into the folder `output`, in place of what was there; return the exit code."""
    sources = output.with_name(f"{output.name}-pages")
    for folder in (output, sources):
        shutil.rmtree(folder, ignore_errors=True)
    stage_pages(sources)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--fresh-env"]
    command += ["--jobs", "auto"]
    command += ["-c", str(Path(__file__).parent), "-d", f"{sources}-cache"]
    return subprocess.run([*command, str(sources), str(output)], check=False).returncode


def _run() -> int:
    pages = {Path(name).stem: name for name in GENERATED}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", choices=list(pages), help="print this page, in Markdown")
    chosen = parser.parse_args().page
    if chosen is None:
        code = build_site()
        if code == 0:
            print(OUTPUT / "index.html")
        return code
    name = pages[chosen]
    print(complete_page(name, (ROOT / name).read_text("utf-8")), end="")
    return 0


if __name__ == "__main__":
    sys.exit(_run())
