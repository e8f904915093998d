"""Finds cycles in a graph, for the scripts in this folder."""

from typing import Iterable, List, Mapping, Optional, Set


def first_cycle(arrows: Mapping[str, Iterable[str]]) -> Optional[List[str]]:
    """Returns the first cycle of {node: successors}, as a list that ends with its first node. None: no cycle."""
    done: Set[str] = set()

    def visit(node: str, path: List[str]) -> Optional[List[str]]:
        if node in path:
            return path[path.index(node) :] + [node]
        if node in done:
            return None
        for target in arrows.get(node, []):
            found = visit(target, path + [node])
            if found:
                return found
        done.add(node)
        return None

    for node in arrows:
        found = visit(node, [])
        if found:
            return found
    return None
