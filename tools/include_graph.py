"""Finds the includes between the files of this tree, for the scripts in this folder.

Paths are strings relative to the top of the tree, with forward slashes.
"""

import functools
import os
import re
from typing import Dict, Set

from changed_files import ROOT, SOURCE_SUFFIXES, all_files

INCLUDE = re.compile(r'^\s*#\s*include\b\s*(?:"(?P<quoted>[^"]*)"|<(?P<angled>[^>]*)>|(?P<other>.*))', re.MULTILINE)


@functools.lru_cache(maxsize=None)
def direct_includes(path: str) -> Set[str]:
    """Returns the files of this tree that a file includes directly."""
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
    """Returns the files of this tree that a file includes, directly or indirectly."""
    found: Set[str] = set()
    open_ends = [path]
    while open_ends:
        for name in direct_includes(open_ends.pop()):
            if name not in found:
                found.add(name)
                open_ends.append(name)
    return found


def includes_of_sources() -> Dict[str, Set[str]]:
    """Returns {source: headers that it includes, directly or indirectly}."""
    return {path: all_includes(path) for path in all_files() or [] if path.endswith(SOURCE_SUFFIXES)}
