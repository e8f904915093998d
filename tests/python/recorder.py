"""A recorder for tests: receives the memory that measured processes share, and decodes it after they end.

Follows only the layout (include/headroom/detail/shared.h), so that it checks a process's output independently.
"""
import array
import collections
import mmap
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading

MAGIC = 0x6D6F6F7264616568
SHARED = struct.Struct("<QIIiIIIQQQQQQIIQQQQ")
RING = struct.Struct("<IIiiQ64s40xQQ")
RECORD = struct.Struct("<QII")
KINDS = {1: "begin", 2: "end", 3: "step", 4: "mark", 5: "counter", 6: "gradient", 7: "frame", 8: "stack"}
BEGIN, END, STEP, MARK, COUNTER, GRADIENT, FRAME, STACK = KINDS.values()
REGIONS_OF_A_THREAD, STACKS_OF_A_THREAD = 0, 3

Event = collections.namedtuple("Event", "ticks kind name serial value")
Region = collections.namedtuple("Region", "name start end number thread")


class Process:
    """The recording of one process.

    threads: a list of Events each, in the order in which they were written.
    stacks: samples as (frames, outermost first; their number).
    """

    def __init__(self, memory):
        head = SHARED.unpack_from(memory, 0)
        assert head[0] == MAGIC and head[1] == 1, head[:2]
        self.pid, rings, ring_records = head[3], head[4], head[5]
        names_offset, text_offset, _, rings_offset, stride, self.bytes, names = head[7:14]
        self.names = [
            memory[text_offset + at : text_offset + at + length].decode()
            for at, length, _ in struct.iter_unpack("<III", memory[names_offset : names_offset + 12 * names])
        ]
        self.threads, self.stacks = [], []
        for i in range(rings):
            at = rings_offset + i * stride
            state, kind, tid, _, _, name, written, dropped = RING.unpack_from(memory, at)
            if state != 0 and kind in (REGIONS_OF_A_THREAD, STACKS_OF_A_THREAD):
                assert (
                    written <= ring_records and dropped == 0
                ), "more than this recorder, which frees nothing, can take"
                events = list(self._events(memory, at + 4096, written))
                if kind == STACKS_OF_A_THREAD:
                    self._add_stacks(events)
                else:
                    self.threads.append(events)

    def _events(self, memory, at, count):
        records = RECORD.iter_unpack(memory[at : at + RECORD.size * count])
        for ticks, name, info in records:
            kind, value = KINDS[info & 0xFF], None
            if kind in (STEP, COUNTER, GRADIENT, STACK):
                raw = next(records)[0]
                value = struct.unpack("<d", struct.pack("<Q", raw))[0] if kind == COUNTER else raw
            yield Event(ticks, kind, self.names[name], info >> 8, value)

    def _add_stacks(self, events):
        frames = []
        for event in events:
            if event.kind == FRAME:
                frames.append(event.name)
            else:
                self.stacks.append((frames, event.value))
                frames = []

    def events(self, kind=None):
        return [event for events in self.threads for event in events if kind in (None, event.kind)]

    def regions(self, name=None):
        """Returns regions in the order in which they began. An open region ends in None."""
        regions = []
        for thread, events in enumerate(self.threads):
            ends = {event.serial: event.ticks for event in events if event.kind == END}
            regions += [
                Region(event.name, event.ticks, ends.get(event.serial), event.value, thread)
                for event in events
                if event.kind in (BEGIN, STEP)
            ]
        return sorted((region for region in regions if name in (None, region.name)), key=lambda region: region.start)

    def names_of_regions(self):
        return [region.name for region in self.regions()]

    def tree(self, *names):
        """Returns regions by nesting, as one line: `STEP(dataloader_next FORWARD)`. If names are given, only regions
        with these names."""
        regions = [region for region in self.regions() if not names or region.name in names]

        def inside(outer):
            return [
                r
                for r in regions
                if r is not outer
                and r.thread == outer.thread
                and r.start >= outer.start
                and r.end is not None
                and outer.end is not None
                and r.end <= outer.end
            ]

        def show(level):
            tops = [r for r in level if not any(r in inside(other) for other in level)]
            return " ".join(r.name + (f"({show(inside(r))})" if inside(r) else "") for r in tops)

        return show(regions)

    def steps(self):
        """Returns the steps that count. Leaves out those that end with the mark `step.empty`."""
        empty = set()
        for thread, events in enumerate(self.threads):
            steps = {event.serial for event in events if event.kind == STEP}
            for i, event in enumerate(events):
                if event.kind == MARK and event.name == "step.empty":
                    end = next(e for e in events[i:] if e.kind == END and e.serial in steps)
                    empty.add((thread, end.ticks))
        return [step for step in self.regions("STEP") if step.end is not None and (step.thread, step.end) not in empty]

    def inside(self, outer, name=None):
        return [
            r
            for r in self.regions(name)
            if r != outer
            and r.thread == outer.thread
            and outer.start <= r.start
            and r.end is not None
            and r.end <= outer.end
        ]


class Recorder:
    """Listens on `path` inside its `with` block. `processes` is available afterwards."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="headroom-test-")
        self.path = os.path.join(self._folder.name, "socket")
        self._memories = []
        self.processes = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen(64)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def _serve(self):
        while True:
            connection, _ = self._socket.accept()
            with connection:
                message, control, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(4))
                if message == b"the end.":
                    return
                assert struct.unpack("<Q", message) == (MAGIC,)
                fds = array.array("i", control[0][2][:4])
                self._memories.append(mmap.mmap(fds[0], os.fstat(fds[0]).st_size, mmap.MAP_SHARED, mmap.PROT_READ))
                os.close(fds[0])

    def __exit__(self, *error):
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.path)
            last.send(b"the end.")
        self._thread.join()
        self._socket.close()
        for memory in self._memories:
            self.processes.append(Process(memory))
            memory.close()
        self._folder.cleanup()


def record(*command, check=True, **environment):
    """Runs a command under a recorder. Returns the processes with recordings, and the finished run."""
    with Recorder() as recorder:
        done = subprocess.run(
            [str(part) for part in command],
            env={**os.environ, "HEADROOM_SOCKET": recorder.path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
    if check and done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return recorder.processes, done


def record_python(script, *arguments, injected=False, **options):
    """Calls record() for a Python script, given as text. injected: times it as `headroom record` does."""
    with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
        path = pathlib.Path(folder) / "script.py"
        path.write_text(textwrap.dedent(script))
        if injected:
            import headroom

            options["PYTHONPATH"] = str(pathlib.Path(headroom.__file__).parent / "_inject")
        return record(sys.executable, "-B", path, *arguments, **options)
