#!/usr/bin/env python3
"""XPlane profiles in slow, simple Python: reads them, writes them, and converts them to the JSON of TensorBoard's
plugin.

    tests/oracle/xplane.py FILE.xplane.pb            prints planes, lines and the first events of each
    tests/oracle/xplane.py FILE.xplane.pb OUT.json   writes that JSON, as a sample; it does not come from the converter

Field numbers follow the published tsl/profiler/protobuf/xplane.proto. Shares no code with Headroom's reader.
"""
import dataclasses
import json
import pathlib
import re
import struct
import sys


# --- wire format ---------------------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Yields (number, value) of each field: an int, or the bytes of a field with a length or a fixed size."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {kind} at {at}")
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def put_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def put(number, value):
    """Returns one field: ints as varints, floats as doubles, text and bytes with their length."""
    if isinstance(value, float):
        return put_varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return put_varint(number << 3) + put_varint(value)
    data = value.encode() if isinstance(value, str) else value
    return put_varint(number << 3 | 2) + put_varint(len(data)) + data


# --- the format ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Event:
    name: str
    start_ns: int  # The sum of line and offset, rounded down.
    end_ns: int
    offset_ps: int
    duration_ps: int
    stats: dict


@dataclasses.dataclass
class Line:
    id: int = 0
    name: str = ""
    timestamp_ns: int = 0
    events: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Plane:
    id: int = 0
    name: str = ""
    lines: list = dataclasses.field(default_factory=list)
    stats: dict = dataclasses.field(default_factory=dict)


def read_stat(data, names):
    key = value = None
    for number, what in fields(data):
        if number == 1:
            key = names[what]
        elif number == 2:
            value = struct.unpack("<d", what)[0]
        elif number in (3, 4):
            value = signed(what) if number == 4 else what
        elif number == 5:
            value = what.decode("utf-8", "replace")
        elif number == 7:
            value = names[what]
    return key, value


def read_map(data, number):
    """Returns {id: text of the message} of a map in field `number` of a plane."""
    entries = (dict(fields(entry)) for field, entry in fields(data) if field == number)
    return {entry.get(1, 0): entry.get(2, b"") for entry in entries}


def read_line(data, event_names, stat_names):
    line = Line()
    raw = []
    for number, value in fields(data):
        if number == 1:
            line.id = signed(value)
        elif number == 2:
            line.name = value.decode()
        elif number == 3:
            line.timestamp_ns = signed(value)
        elif number == 4:
            raw.append(value)
    for text in raw:
        of = {number: value for number, value in fields(text) if number != 4}
        stats = dict(read_stat(value, stat_names) for number, value in fields(text) if number == 4)
        offset, duration = signed(of.get(2, 0)), signed(of.get(3, 0))
        line.events.append(
            Event(
                event_names[of.get(1, 0)],
                line.timestamp_ns + offset // 1000,
                line.timestamp_ns + (offset + duration) // 1000,
                offset,
                duration,
                stats,
            )
        )
    return line


def read_plane(data):
    plane = Plane()

    def name_of(message):
        return dict(fields(message)).get(2, b"").decode("utf-8", "replace")

    stat_names = {key: name_of(value) for key, value in read_map(data, 5).items()}
    event_names = {
        key: dict(fields(value)).get(4, b"").decode() or name_of(value) for key, value in read_map(data, 4).items()
    }
    for number, value in fields(data):
        if number == 1:
            plane.id = value
        elif number == 2:
            plane.name = value.decode()
        elif number == 3:
            plane.lines.append(read_line(value, event_names, stat_names))
        elif number == 6:
            key, of = read_stat(value, stat_names)
            plane.stats[key] = of
    return plane


def read(data):
    """Returns the planes of a file."""
    return [read_plane(value) for number, value in fields(data) if number == 1]


def write_plane(plane):
    """Returns the bytes of a plane. Like the profiler, writes lines before names, and texts as references."""
    events, stats = {}, {}

    def number_of(table, name):
        return table.setdefault(name, len(table) + 1)

    def stat(key, value):
        out = put(1, number_of(stats, key))
        if isinstance(value, str):
            return out + put(7, number_of(stats, value))
        return out + put(2 if isinstance(value, float) else 4, value)

    out = put(1, plane.id) + put(2, plane.name)
    for line in plane.lines:
        text = put(1, line.id) + put(2, line.name) + put(3, line.timestamp_ns)
        for event in line.events:
            message = put(1, number_of(events, event.name)) + put(2, event.offset_ps) + put(3, event.duration_ps)
            text += put(4, message + b"".join(put(4, stat(*item)) for item in event.stats.items()))
        out += put(3, text)
    of_plane = b"".join(put(6, stat(*item)) for item in plane.stats.items())
    for name, number in events.items():
        out += put(4, put(1, number) + put(2, put(1, number) + put(2, name)))
    for name, number in stats.items():
        out += put(5, put(1, number) + put(2, put(1, number) + put(2, name)))
    return out + of_plane


def write(planes):
    return b"".join(put(1, write_plane(plane)) for plane in planes)


def event(name, start_us, duration_us, **stats):
    """Returns an event of a line that begins at 0."""
    start, duration = round(start_us * 1e6), round(duration_us * 1e6)
    return Event(name, start // 1000, (start + duration) // 1000, start, duration, stats)


# --- the JSON of TensorBoard's plugin ------------------------------------------------------------------------------

HOST_PID, FIRST_DEVICE_PID = 701, 1
MOST_EVENTS = 1_000_000


def device_of(plane):
    found = re.match(r"/device:(?:GPU|TPU):(\d+)", plane.name)
    return int(found[1]) if found else None


def trace_json(planes, most=MOST_EVENTS):
    """Returns the object that the converter writes. It has names of tracks, spans in microseconds with all arguments as
    text, limited to the earliest `most` spans. An empty object ends the list."""
    tracks, spans = [], []
    for plane in planes:
        ordinal = device_of(plane)
        if ordinal is None and not plane.name.startswith("/host:CPU"):
            continue
        pid = HOST_PID if ordinal is None else FIRST_DEVICE_PID + ordinal
        tracks.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": plane.name}})
        tracks.append({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}})
        for line in plane.lines:
            tid = line.id % (1 << 32)  # The converter's resource ids have 32 bits.
            tracks.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": line.name}})
            tracks.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}})
            for of in line.events:
                start_ps = line.timestamp_ns * 1000 + of.offset_ps
                span = {
                    "ph": "X",
                    "pid": pid,
                    "tid": tid,
                    "ts": start_ps / 1e6,
                    "dur": of.duration_ps / 1e6,
                    "name": of.name,
                }
                if of.stats:
                    span["args"] = {key: str(value) for key, value in of.stats.items() if not key.startswith("_")}
                spans.append((start_ps, span))
    spans.sort(key=lambda item: item[0])
    return {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": tracks + [span for _, span in spans[:most]] + [{}],
    }


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    planes = read(pathlib.Path(sys.argv[1]).read_bytes())
    if len(sys.argv) == 3:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(trace_json(planes)))
        return
    for plane in planes:
        print(plane.name, plane.stats)
        for line in plane.lines:
            print(f"  {line.name!r} {len(line.events)} events")
            for of in line.events[:3]:
                print(f"    {of.name[:80]!r} {of.start_ns} to {of.end_ns} ns {of.stats}")


if __name__ == "__main__":
    main()
