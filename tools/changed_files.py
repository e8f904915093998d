"""What git says about the files of this tree, for the scripts in this folder.

Paths are strings relative to the top of the tree, with forward slashes.
"""

import pathlib
import subprocess
from typing import List, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent

SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cu")
HEADER_SUFFIXES = (".cuh", ".h", ".hpp")


def git(*arguments: str) -> Optional[List[str]]:
    """The output of a git command that separates by NUL (-z), or None if it fails."""
    result = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return [part for part in result.stdout.replace("\n", "\0").split("\0") if part] if result.returncode == 0 else None


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
    """The files that changed since a commit: deleted, uncommitted and untracked ones included. None if git fails."""
    changed = git("diff", "--name-only", "-z", base)
    untracked = git("ls-files", "-z", "--others", "--exclude-standard")
    if changed is None or untracked is None:
        return None
    return sorted({*changed, *untracked})


def all_files() -> Optional[List[str]]:
    """All files that git knows or would add and that are there. None if git fails."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return None if names is None else sorted({name for name in names if (ROOT / name).is_file()})


def is_cpp(path: str) -> bool:
    return path.endswith(SOURCE_SUFFIXES + HEADER_SUFFIXES)
