"""What the scripts in this folder share: what git says changed, and what includes what.

Paths are strings relative to the top of the source tree, with forward slashes.
"""

import functools
import os
import pathlib
import re
import subprocess
from typing import Dict, List, Optional, Set

ROOT = pathlib.Path(__file__).resolve().parent.parent

INCLUDE = re.compile(r'^\s*#\s*include\b\s*(?:"(?P<quoted>[^"]*)"|<(?P<angled>[^>]*)>|(?P<other>.*))', re.MULTILINE)
SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cu")
HEADER_SUFFIXES = (".cuh", ".h", ".hpp")


def git(*arguments: str) -> Optional[List[str]]:
    """The output of a git command in lines, or None if it fails."""
    result = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return result.stdout.splitlines() if result.returncode == 0 else None


def default_base() -> Optional[str]:
    """The commit to compare with, or None if there is none.

    It is the point where this branch left its upstream, or else origin/main, or else main. On such a branch itself,
    with nothing of its own, it is the commit before the last (for a merge, what it merged).
    """
    head = git("rev-parse", "HEAD")
    for upstream in ("@{upstream}", "origin/main", "main"):
        base = git("merge-base", "HEAD", upstream)
        if base and base != head:
            return base[0]
    before = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return before[0] if before else None


def changed_since(base: str) -> Optional[List[str]]:
    """The files that changed since a commit, uncommitted and untracked ones included; None if git knows no such
    commit.
    """
    changed = git("diff", "--name-only", "--diff-filter=d", base)
    if changed is None:
        return None
    return sorted({*changed, *(git("ls-files", "--others", "--exclude-standard") or [])})


def cpp_files() -> List[str]:
    """All C and C++ files that git knows or would add."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard") or []
    return sorted(
        {name for name in names if name.endswith(SOURCE_SUFFIXES + HEADER_SUFFIXES) and (ROOT / name).is_file()}
    )


@functools.lru_cache(maxsize=None)
def direct_includes(path: str) -> Set[str]:
    """The files of this tree that a file includes itself."""
    found = set()
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        name = match["quoted"] or match["angled"]
        if not name:
            continue
        for folder in ("src", "include", os.path.dirname(path)):
            candidate = os.path.normpath(os.path.join(folder, name))
            if (ROOT / candidate).is_file():
                found.add(candidate)
                break
    return found


def all_includes(path: str) -> Set[str]:
    """The files of this tree that a file includes, through others too."""
    found: Set[str] = set()
    open_ends = [path]
    while open_ends:
        for name in direct_includes(open_ends.pop()):
            if name not in found:
                found.add(name)
                open_ends.append(name)
    return found


def includes_of_sources() -> Dict[str, Set[str]]:
    """What each source file includes, through headers too: {source: headers}."""
    return {path: all_includes(path) for path in cpp_files() if path.endswith(SOURCE_SUFFIXES)}
