"""Lists the changed files and all files of this tree, for the scripts in this folder.

Paths are strings relative to the top of the tree, with forward slashes.
"""

import pathlib
import subprocess
from typing import List, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent

SOURCE_SUFFIXES = (".c", ".cc", ".cpp", ".cu")
HEADER_SUFFIXES = (".cuh", ".h", ".hpp")


def git(*arguments: str) -> Optional[List[str]]:
    """Returns what a git command prints, split at NUL (-z) and at newlines. None if it fails."""
    result = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return [part for part in result.stdout.replace("\n", "\0").split("\0") if part] if result.returncode == 0 else None


def default_base() -> Optional[str]:
    """Returns the commit to compare with, or None if there is none.

    This is the point where the branch left its upstream, or else origin/main, or else main. On such a branch without
    additional commits, it is the first parent of HEAD.
    """
    head = git("rev-parse", "HEAD")
    for upstream in ("@{upstream}", "origin/main", "main"):
        base = git("merge-base", "HEAD", upstream)
        if base and base != head:
            return base[0]
    before = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return before[0] if before else None


def changed_since(base: str) -> Optional[List[str]]:
    """Returns the files changed since a commit, deleted and untracked files included. None if git fails."""
    changed = git("diff", "--name-only", "-z", base)
    untracked = git("ls-files", "-z", "--others", "--exclude-standard")
    if changed is None or untracked is None:
        return None
    return sorted({*changed, *untracked})


def all_files() -> Optional[List[str]]:
    """Returns all existing files that git tracks or would add. None if git fails."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return None if names is None else sorted({name for name in names if (ROOT / name).is_file()})


def is_cpp(path: str) -> bool:
    return path.endswith(SOURCE_SUFFIXES + HEADER_SUFFIXES)
