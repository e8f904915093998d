"""Two traces compared as the program reads them: every table and column, by value and not by row number."""
import csv
import json
import re
import sys

from integration import support

csv.field_size_limit(sys.maxsize)
# Columns that refer to rows of other tables.
REFERENCES = {
    "process": "processes",
    "thread": "threads",
    "device": "devices",
    "stream": "streams",
    "parent": "host_events",
    "launch": "host_events",
    "event": "host_events",
    "task": "gpu_tasks",
}


def tables(trace, folder):
    """{table: [row]}, with what refers to a row replaced by what that row says. Fails where the program does."""
    outcome = support.headroom("export", trace, "--to", "csv", "-o", folder, "-q")
    if outcome.code != 0:
        raise AssertionError(str(outcome))
    read = {}
    for path in sorted(folder.iterdir()):
        with open(path, newline="", encoding="utf-8") as file:
            read[path.stem] = list(csv.DictReader(file))
    return {name: sorted(resolved(read, name, row) for row in rows) for name, rows in read.items()}


def resolved(read, table, row, depth=0):
    values = []
    for column, text in row.items():
        target = REFERENCES.get(column)
        if column == "id" or (table == "memory_events" and column == "device"):
            target = None
        if column == "id":
            continue
        if target and text and (depth < 1 or target not in ("host_events", "gpu_tasks")):
            text = repr(resolved(read, target, read[target][int(text)], depth + 1))
        elif text and target in ("host_events", "gpu_tasks"):
            continue  # Of a call that launched a task, its own parent is compared in its own row.
        elif column == "args" and text:
            text = members(text)
        values.append((column, text))
    return tuple(values)


def members(text):
    """The members of `args`, however they are spaced."""
    if text[0] == "'" and text[1:2] == '"':
        text = text[1:]
    try:
        return json.dumps(json.loads("{" + text + "}"))
    except json.JSONDecodeError:
        return re.sub(r"\s+", "", text)


def differences(want, got, most=3):
    """Sentences that say where two traces differ; [] where they are equal."""
    found = []
    for name in want:
        if want[name] == got[name]:
            continue
        found.append(f"{name}: {len(want[name])} rows, then {len(got[name])}")
        missing, extra = set(want[name]) - set(got[name]), set(got[name]) - set(want[name])
        for a, b in list(zip(sorted(missing), sorted(extra)))[:most]:
            found += [f"  {x[0]}: {x[1]!r} -> {y[1]!r}" for x, y in zip(a, b) if x != y]
        if not missing or not extra:
            found += [f"  {sorted(missing)[:most]} -> {sorted(extra)[:most]}"]
    return found
