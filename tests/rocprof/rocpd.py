#!/usr/bin/env python3
"""Makes databases in the form of rocpd, the default output of ROCm's rocprofv3 from ROCm 7 on.

    tests/rocprof/rocpd.py TRACE.json.gz OUT.db [--form 3.0.0] [--copies N]

The result is MADE, not recorded. Tables, columns and values follow the published schema and source of rocprofiler-sdk.
The events are those of output.py's `Job`.
"""
import argparse
import gzip
import json
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import output  # noqa: E402

# Differences between versions of the schema.
FORMS = {
    "3.0.0": dict(tracks=False, ranges="MARKER_CORE_RANGE_API", text="message", suffix=True),
    # Texts of ranges are their names. Functions are stored next to them.
    "3.0.0-names": dict(tracks=False, ranges="MARKER_CORE_API", text="name", suffix=True),
    # A track states once where something runs. Categories have a table.
    "4.1.0": dict(tracks=True, ranges="MARKER_CORE_RANGE_API", text="message", suffix=True),
    # The views of a database, copied as tables.
    "views": dict(tracks=False, ranges="MARKER_CORE_RANGE_API", text="message", suffix=False),
}
PLACE = "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER"
TRACK = "track_id INTEGER NOT NULL"
ID = "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT '{guid}' NOT NULL"
TIMES = '"start" BIGINT NOT NULL, "end" BIGINT NOT NULL'
EXTDATA = "extdata JSONB DEFAULT '{{}}' NOT NULL"
SCHEMA = {
    "rocpd_metadata": "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT NULL",
    "rocpd_string": f"{ID}, string TEXT NOT NULL UNIQUE ON CONFLICT ABORT",
    "rocpd_info_node": f"{ID}, hash BIGINT NOT NULL UNIQUE, machine_id TEXT NOT NULL UNIQUE, hostname TEXT",
    "rocpd_info_process": f"{ID}, nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, command TEXT,"
    f" environment JSONB DEFAULT '{{{{}}}}' NOT NULL, {EXTDATA}",
    "rocpd_info_thread": f"{ID}, nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, tid INTEGER NOT NULL,"
    f" name TEXT, {EXTDATA}",
    "rocpd_info_agent": f"{ID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, type TEXT CHECK (type IN ('CPU', 'GPU')),"
    f" absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT, {EXTDATA}",
    "rocpd_info_queue": f"{ID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, {EXTDATA}",
    "rocpd_info_stream": f"{ID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, {EXTDATA}",
    "rocpd_info_kernel_symbol": f"{ID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, code_object_id INTEGER NOT NULL,"
    f" kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, {EXTDATA}",
    "rocpd_event": f"{ID}, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER,"
    f" {EXTDATA}",
    "rocpd_arg": f"{ID}, event_id INTEGER NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL,"
    f" name TEXT NOT NULL, value TEXT, {EXTDATA}",
    "rocpd_info_pmc": f"{ID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, name TEXT NOT NULL,"
    f" symbol TEXT NOT NULL, units TEXT DEFAULT '', {EXTDATA}",
    "rocpd_pmc_event": f"{ID}, event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL DEFAULT 0.0, {EXTDATA}",
    "rocpd_region": f"{ID}, {{place}}, {TIMES}, name_id INTEGER NOT NULL, event_id INTEGER, {EXTDATA}",
    "rocpd_kernel_dispatch": f"{ID}, {{place}}, {{of_task}} kernel_id INTEGER NOT NULL, dispatch_id INTEGER NOT NULL,"
    f" {TIMES}, private_segment_size INTEGER, group_segment_size INTEGER,"
    + ", ".join(f" {what}_size_{axis} INTEGER NOT NULL" for what in ("workgroup", "grid") for axis in "xyz")
    + f", region_name_id INTEGER, event_id INTEGER, {EXTDATA}",
    "rocpd_memory_copy": f"{ID}, {{place}}, {TIMES}, name_id INTEGER NOT NULL, dst_agent_id INTEGER,"
    f" src_agent_id INTEGER, size INTEGER NOT NULL, {{of_copy}} region_name_id INTEGER, event_id INTEGER, {EXTDATA}",
    "rocpd_memory_allocate": f"{ID}, {{place}}, {{of_memory}}"
    " type TEXT CHECK (type IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM')),"
    f" level TEXT CHECK (level IN ('REAL', 'VIRTUAL', 'SCRATCH')), {TIMES}, address INTEGER, size INTEGER NOT NULL,"
    f" event_id INTEGER, {EXTDATA}",
    "rocpd_track": f"{ID}, nid INTEGER NOT NULL, pid INTEGER, tid INTEGER, {{of_track}} name_id INTEGER, {EXTDATA}",
    "rocpd_sample": f'{ID}, track_id INTEGER NOT NULL, {{of_sample}} "timestamp" BIGINT NOT NULL, event_id INTEGER,'
    f" {EXTDATA}",
}


class Recording:
    """The tables of one recording: jobs of one machine, each a process."""

    def __init__(self, database, jobs, form, guid):
        self.database, self.form, self.guid = database, form, guid
        self.suffix = "_" + guid.replace("-", "_") if form["suffix"] else ""
        self.strings, self.categories, self.tracks, self.threads = {}, {}, {}, {}
        tracks = form["tracks"]
        fields = dict(
            guid=guid,
            place=TRACK if tracks else PLACE,
            of_task=""
            if tracks
            else "agent_id INTEGER NOT NULL, queue_id INTEGER NOT NULL, stream_id INTEGER NOT NULL,",
            of_copy="" if tracks else "queue_id INTEGER, stream_id INTEGER,",
            of_memory="" if tracks else "agent_id INTEGER, queue_id INTEGER, stream_id INTEGER,",
            of_track="agent_id INTEGER, queue_id INTEGER, stream_id INTEGER," if tracks else "",
            of_sample="name_id INTEGER NOT NULL," if tracks else "",
        )
        schema = dict(SCHEMA)
        if tracks:
            schema["rocpd_info_category"] = f"{ID}, name TEXT NOT NULL, {EXTDATA}"
        for name, columns in schema.items():
            database.execute(f'CREATE TABLE "{name}{self.suffix}" ({columns.format(**fields)})')
            if self.suffix:
                database.execute(f'CREATE VIEW IF NOT EXISTS "{name}" AS SELECT * FROM "{name}{self.suffix}"')
        for tag, value in (("schema_version", "4" if tracks else "3"), ("uuid", self.suffix), ("guid", guid)):
            self.insert("rocpd_metadata", tag=tag, value=value)
        self.insert("rocpd_info_node", id=1, hash=7, machine_id="0" * 32, hostname="somebody-pc")
        for number, job in enumerate(jobs):
            self.add(number, job)

    def insert(self, table, **row):
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" * len(row))
        return self.database.execute(
            f'INSERT INTO "{table}{self.suffix}" ({names}) VALUES ({marks})', list(row.values())
        ).lastrowid

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = self.insert("rocpd_string", string=text)
        return self.strings[text]

    def category(self, name):
        if not self.form["tracks"]:
            return self.string(name)
        if name not in self.categories:
            self.categories[name] = self.insert("rocpd_info_category", name=name)
        return self.categories[name]

    def event(self, category, correlation, message=None):
        return self.insert(
            "rocpd_event",
            category_id=self.category(category),
            stack_id=correlation,
            parent_stack_id=correlation,
            correlation_id=0,
            extdata="{}" if message is None else json.dumps({"message": message}),
        )

    def track(self, **columns):
        key = tuple(columns.items())
        if key not in self.tracks:
            self.tracks[key] = self.insert("rocpd_track", nid=1, **columns)
        return self.tracks[key]

    def place(self, job, tid, **task):
        """Returns the columns that state the place of a row."""
        where = dict(pid=job.pid, tid=None if tid is None else self.thread(job, tid))
        if self.form["tracks"]:
            return dict(track_id=self.track(**where, **task))
        return dict(nid=1, **where, **task)

    def thread(self, job, tid):
        """Returns the id of a thread. It differs from its number, which both processes may use."""
        key = (job.pid, tid)
        if key not in self.threads:
            self.threads[key] = self.insert("rocpd_info_thread", nid=1, ppid=1, pid=job.pid, tid=tid)
        return self.threads[key]

    def add(self, number, job):
        base = 100 * number
        self.insert(
            "rocpd_info_process",
            id=job.pid,
            nid=1,
            ppid=1,
            pid=job.pid,
            command="/home/somebody/bin/python3 train.py --token hunter2",
            environment=json.dumps({"TOKEN": "hunter2"}),
        )
        made = output.process_of(job, [job], output.FORMS["7.1"])
        for agent in made["agents"]:
            gpu = agent["type"] == output.GPU
            self.insert(
                "rocpd_info_agent",
                id=base + agent["node_id"],
                nid=1,
                pid=job.pid,
                type="GPU" if gpu else "CPU",
                absolute_index=agent["node_id"],
                logical_index=agent["logical_node_id"],
                type_index=0,
                name=agent["name"],
                product_name=agent["product_name"],
                extdata=json.dumps(agent),
            )
        symbols = list(dict.fromkeys(row["name"] for row in job.kernels))
        for at, name in enumerate(symbols):
            self.insert(
                "rocpd_info_kernel_symbol",
                id=1000 * number + at + 1,
                nid=1,
                pid=job.pid,
                code_object_id=1,
                kernel_name=f"{name}.kd",
                display_name=name,
                arch_vgpr_count=48,
                accum_vgpr_count=16,
                extdata=json.dumps(made["kernel_symbols"][at + 1]),
            )
        for row in job.calls:
            self.call(job, row)
        for name in job.counter_names():
            of = dict(nid=1, pid=job.pid, agent_id=base + 1, name=name, symbol=name)
            self.insert("rocpd_info_pmc", id=base + job.counter(name), **of)
        for row in job.kernels:
            event = self.event("KERNEL_DISPATCH", row["correlation"])
            for name, values in row["counters"].items():
                for value in output.parts_of(values):
                    self.insert("rocpd_pmc_event", event_id=event, pmc_id=base + job.counter(name), value=value)
            self.insert(
                "rocpd_kernel_dispatch",
                **self.place(
                    job, row["tid"], agent_id=base + row["agent"], queue_id=row["queue"], stream_id=row["stream"]
                ),
                kernel_id=1000 * number + symbols.index(row["name"]) + 1,
                dispatch_id=1,
                start=row["start"],
                end=row["end"],
                private_segment_size=0,
                group_segment_size=row["shared"],
                **{f"workgroup_size_{axis}": block for axis, block in zip("xyz", row["block"])},
                **{f"grid_size_{axis}": g * b for axis, g, b in zip("xyz", row["grid"], row["block"])},
                event_id=event,
            )
        for row in job.copies:
            task = dict(stream_id=row["stream"])
            if self.form["tracks"]:
                task |= dict(agent_id=base + row["target"])
            self.insert(
                "rocpd_memory_copy",
                **self.place(job, row["tid"], **task),
                start=row["start"],
                end=row["end"],
                name_id=self.string(f"MEMORY_COPY_{row['direction']}"),
                dst_agent_id=base + row["target"],
                src_agent_id=base + row["source"],
                size=row["size"],
                event_id=self.event("MEMORY_COPY", row["correlation"]),
            )
        for row in job.allocations:
            agent = None if row["agent"] is None else base + row["agent"]
            self.insert(
                "rocpd_memory_allocate",
                **self.place(job, job.pid, agent_id=agent, queue_id=0, stream_id=0),
                type="FREE" if "FREE" in row["operation"] else "ALLOC",
                level="REAL",
                start=row["start"],
                end=row["end"],
                address=row["address"],
                size=row["size"],
                event_id=self.event("MEMORY_ALLOCATION", 0),
            )
        for value in range(3):
            self.insert("rocpd_pmc_event", event_id=1, pmc_id=1, value=value)

    def call(self, job, row):
        name, message = row["name"], row["text"]
        if message is not None and self.form["text"] == "name":
            name, message = message, name
        category = self.form["ranges"] if row["kind"] == "MARKER" else row["kind"]
        event = self.event(category, row["correlation"], message)
        self.insert("rocpd_arg", event_id=event, position=0, type="int", name="secret", value="hunter2")
        if row["start"] == row["end"]:
            named = dict(name_id=self.string(name)) if self.form["tracks"] else {}
            track = self.track(pid=job.pid, tid=self.thread(job, row["tid"]), name_id=self.string(category))
            self.insert("rocpd_sample", track_id=track, timestamp=row["start"], event_id=event, **named)
            return
        self.insert(
            "rocpd_region",
            **self.place(job, row["tid"]),
            start=row["start"],
            end=row["end"],
            name_id=self.string(name),
            event_id=event,
        )


def write_rocpd(path, *recordings, form="3.0.0"):
    """Each recording is a job or a list of jobs. Several recordings are the result of `rocpd merge`."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    with database:
        for number, jobs in enumerate(recordings):
            jobs = jobs if isinstance(jobs, list) else [jobs]
            Recording(database, jobs, FORMS[form], f"0198c0de-0000-7000-8000-{number:012}")
    database.close()
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--form", choices=FORMS, default="3.0.0")
    parser.add_argument("--copies", type=int, default=1)
    given = parser.parse_args()
    with gzip.open(given.trace) as file:
        write_rocpd(given.out, output.from_kineto(json.load(file), given.copies), form=given.form)


if __name__ == "__main__":
    main()
