"""Compares two traces as the program reads them: every table and column, by value instead of row number."""
import csv
import json
import re
import shutil
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


def write(trace, folder):
    """Writes one CSV file per table. Fails if the program fails."""
    outcome = support.headroom("export", trace, "--to", "csv", "-o", folder, "-q")
    if outcome.code != 0:
        raise AssertionError(str(outcome))


def read(folder):
    """Returns {table: [row]}. Replaces each reference to a row by the contents of that row."""
    rows = {}
    for path in sorted(folder.iterdir()):
        with open(path, newline="", encoding="utf-8") as file:
            rows[path.stem] = list(csv.DictReader(file))
    referred = {}
    return {name: sorted(resolved(rows, referred, name, row) for row in rows[name]) for name in rows}


def tables(trace, folder):
    write(trace, folder)
    return read(folder)


def compare(one, other, folder):
    """Returns sentences on the differences between the tables of two traces. Parses the files only if their bytes
    differ."""
    folders = folder / "tables-of-one", folder / "tables-of-other"
    for trace, tables_of_it in zip((one, other), folders):
        write(trace, tables_of_it)
    contents = [{path.name: path.read_bytes() for path in tables_of_it.iterdir()} for tables_of_it in folders]
    found = [] if contents[0] == contents[1] else differences(*map(read, folders))
    for tables_of_it in folders:
        shutil.rmtree(tables_of_it)
    return found


def resolved(rows, referred, table, row, depth=0):
    """`referred` caches the texts of referenced rows, by table and number."""
    values = []
    for column, text in row.items():
        target = REFERENCES.get(column)
        if column == "id" or (table == "memory_events" and column == "device"):
            target = None
        if column == "id":
            continue
        if target and text and (depth < 1 or target not in ("host_events", "gpu_tasks")):
            key = target, text
            if key not in referred:
                referred[key] = repr(resolved(rows, referred, target, rows[target][int(text)], depth + 1))
            text = referred[key]
        elif text and target in ("host_events", "gpu_tasks"):
            continue  # For a call that launched a task, its own row compares the parent.
        elif column == "args" and text:
            text = members(text)
        values.append((column, text))
    return tuple(values)


def members(text):
    """Returns the members of `args`, independent of white space."""
    if text[0] == "'" and text[1:2] == '"':
        text = text[1:]
    try:
        return json.dumps(json.loads("{" + text + "}"))
    except json.JSONDecodeError:
        return re.sub(r"\s+", "", text)


def differences(want, got, most=3):
    """Returns sentences on the differences between two traces; [] if they are equal."""
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
