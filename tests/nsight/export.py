#!/usr/bin/env python3
"""Makes databases in the form of Nsight Systems' SQLite export.

    tests/nsight/export.py TRACE.json.gz OUT.sqlite [--form 2024.5] [--copies N]

The result is MADE, not recorded. Tables and columns follow the schema that Nsight Systems documents. The events come
from a trace of PyTorch's profiler (`from_kineto`), or are a few written by hand (`drawn`). `--copies` repeats the
trace, for a large file.

As a library: `Export` collects events, times in nanoseconds; `write` stores them in one of FORMS.
"""
import argparse
import collections
import decimal
import gzip
import json
import pathlib
import re
import sqlite3

# Differences between versions: places of names, columns and tables, and declarations of types.
FORMS = {
    # All columns NOT NULL: 0 means "none". Texts of ranges are in the row. No data on the machine.
    "2020.3": dict(
        integer="INT NOT NULL", text_ids=False, mangled=False, graphs=False, machine=False, devices=False, meta=None
    ),
    "2022.4": dict(
        integer="INTEGER",
        text_ids=True,
        mangled=False,
        graphs=True,
        machine=True,
        devices=False,
        meta="EXPORT_META_DATA",
    ),
    "2024.5": dict(
        integer="INTEGER", text_ids=True, mangled=True, graphs=True, machine=True, devices=True, meta="META_DATA_EXPORT"
    ),
    # Other order of columns, without declared types.
    "2025.1": dict(
        integer="",
        text_ids=True,
        mangled=True,
        graphs=True,
        machine=True,
        devices=True,
        meta="META_DATA_EXPORT",
        reverse=True,
    ),
}
MEMORY_KINDS = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"]
COPY_KINDS = ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"]
SYNC_TYPES = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
PUSH_POP, START_END, MARK, DOMAIN_CREATE = 59, 60, 34, 75


def global_id(pid, tid=0):
    return (1 << 56) | ((pid & 0xFFFFFF) << 24) | (tid & 0xFFFFFF)


class Export:
    """Events of one session: lists of dicts by table, with column names as keys. Texts stay texts until written."""

    def __init__(self):
        self.rows = collections.defaultdict(list)
        self.gpus = []  # Dicts: id, name, totalMemory, smCount, computeMajor, computeMinor.
        self.processes = {}  # pid: name.
        self.threads = {}  # (pid, tid): name.

    def add(self, table, **columns):
        self.rows[table].append(columns)

    def task(self, kind, start, end, *, pid, device, stream, correlation, context=1, **columns):
        self.add(
            f"CUPTI_ACTIVITY_KIND_{kind}",
            start=start,
            end=end,
            deviceId=device,
            contextId=context,
            streamId=stream,
            correlationId=correlation,
            globalPid=global_id(pid),
            **columns,
        )

    def kernel(self, name, start, end, *, grid=(1, 1, 1), block=(32, 1, 1), registers=16, shared=0, node=None, **where):
        axes = {f"grid{a}": n for a, n in zip("XYZ", grid)} | {f"block{a}": n for a, n in zip("XYZ", block)}
        self.task(
            "KERNEL",
            start,
            end,
            demangledName=name,
            shortName=re.split(r"[<(]", name)[0] or name,
            registersPerThread=registers,
            staticSharedMemory=0,
            dynamicSharedMemory=shared,
            graphNodeId=node,
            **axes,
            **where,
        )

    def call(self, name, start, end, *, pid, tid, correlation):
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            eventClass=0,
            globalTid=global_id(pid, tid),
            correlationId=correlation,
            nameId=name,
            returnValue=0,
        )

    def range(self, text, start, end, *, pid, tid, kind=PUSH_POP, domain=0):
        self.add(
            "NVTX_EVENTS",
            start=start,
            end=end,
            eventType=kind,
            rangeId=None,
            category=None,
            color=None,
            text=text,
            globalTid=global_id(pid, tid),
            endGlobalTid=None,
            domainId=domain,
            jsonText=None,
            jsonTextId=None,
            binaryData=None,
        )

    def write(self, path, form="2024.5", page_size=4096):
        form = FORMS[form]
        path = pathlib.Path(path)
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.execute(f"PRAGMA page_size = {page_size}")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        ids = {}

        def text_id(text):
            return None if text is None else ids.setdefault(text, len(ids))

        def table(name, columns, rows):
            """columns: {name: "i" or "t"}; rows: dicts. Creates no table without rows."""
            if not rows:
                return
            names = list(columns)
            if form.get("reverse"):
                names.reverse()
            none = 0 if form["integer"].endswith("NOT NULL") else None
            types = {"i": form["integer"], "t": "TEXT" if form["integer"] else "", "r": "REAL"}
            database.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {types[columns[c]]}' for c in names)})")
            database.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})",
                ([none if row.get(c) is None and columns[c] == "i" else row.get(c) for c in names] for row in rows),
            )

        on_device = dict.fromkeys(
            ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"), "i"
        )
        node = {"graphNodeId": "i"} if form["graphs"] else {}
        names = ("demangledName", "shortName", "mangledName")
        for kind, columns in {
            "KERNEL": dict.fromkeys(
                (
                    "demangledName",
                    "shortName",
                    *(["mangledName"] if form["mangled"] else []),
                    "registersPerThread",
                    "gridX",
                    "gridY",
                    "gridZ",
                    "blockX",
                    "blockY",
                    "blockZ",
                    "staticSharedMemory",
                    "dynamicSharedMemory",
                ),
                "i",
            )
            | node,
            "MEMCPY": dict.fromkeys(("bytes", "copyKind", "srcKind", "dstKind"), "i") | node,
            "MEMSET": dict.fromkeys(("value", "bytes", "memKind"), "i") | node,
            "GRAPH_TRACE": dict.fromkeys(("graphId", "graphExecId"), "i"),
            "SYNCHRONIZATION": dict.fromkeys(("syncType", "eventId"), "i"),
        }.items():
            rows = [
                {c: text_id(v) if c in names else v for c, v in row.items()}
                for row in self.rows[f"CUPTI_ACTIVITY_KIND_{kind}"]
            ]
            table(f"CUPTI_ACTIVITY_KIND_{kind}", on_device | columns, rows)
        for name in ("CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API"):
            table(
                name,
                dict.fromkeys(
                    ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"), "i"
                ),
                [row | {"nameId": text_id(row["nameId"])} for row in self.rows[name]],
            )
        ranges = self.rows["NVTX_EVENTS"]
        columns = {
            "start": "i",
            "end": "i",
            "eventType": "i",
            "rangeId": "i",
            "category": "i",
            "color": "i",
            "text": "t",
            "globalTid": "i",
            "endGlobalTid": "i",
        }
        if form["text_ids"]:
            columns |= {"textId": "i", "domainId": "i", "jsonTextId": "i", "jsonText": "t", "binaryData": "t"}
            # Registered strings have an id, others are in the row. Here every other distinct text is registered.
            order = {}
            ranges = [
                row
                | (
                    {"text": None, "textId": text_id(row["text"])}
                    if order.setdefault(row["text"], len(order)) % 2
                    else {}
                )
                for row in ranges
            ]
        table("NVTX_EVENTS", columns, ranges)
        table(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            dict.fromkeys(
                (
                    "start",
                    "globalPid",
                    "deviceId",
                    "contextId",
                    "address",
                    "pc",
                    "bytes",
                    "memKind",
                    "memoryOperationType",
                    "correlationId",
                ),
                "i",
            ),
            self.rows["CUDA_GPU_MEMORY_USAGE_EVENTS"],
        )
        table("GPU_METRICS", dict.fromkeys(("timestamp", "typeId", "metricId", "value"), "i"), self.rows["GPU_METRICS"])
        table(
            "TARGET_INFO_GPU_METRICS",
            {"typeId": "i", "sourceId": "i", "typeName": "t", "metricId": "i", "metricName": "t"},
            self.rows["TARGET_INFO_GPU_METRICS"],
        )
        table(
            "DIAGNOSTIC_EVENT",
            {"timestamp": "i", "timestampType": "i", "source": "i", "severity": "i", "text": "t", "globalPid": "i"},
            self.rows["DIAGNOSTIC_EVENT"],
        )
        if form["machine"]:
            table(
                "TARGET_INFO_GPU",
                {
                    "vmId": "i",
                    "id": "i",
                    "name": "t",
                    "totalMemory": "i",
                    "smCount": "i",
                    "computeMajor": "i",
                    "computeMinor": "i",
                },
                self.gpus,
            )
            table(
                "PROCESSES",
                {"globalPid": "i", "pid": "i", "name": "t"},
                [dict(globalPid=global_id(pid), pid=pid, name=name) for pid, name in self.processes.items()],
            )
            table(
                "ThreadNames",
                {"nameId": "i", "priority": "i", "globalTid": "i"},
                [dict(nameId=text_id(name), globalTid=global_id(*who)) for who, name in self.threads.items()],
            )
            table(
                "TARGET_INFO_SESSION_START_TIME",
                {"utcEpochNs": "i", "utcTime": "t", "localTime": "t"},
                [dict(utcEpochNs=1_700_000_000_000_000_000)],
            )
        if form["devices"]:
            table(
                "TARGET_INFO_CUDA_DEVICE",
                {"gpuId": "i", "cudaId": "i", "pid": "i", "uuid": "t", "numMultiprocessors": "i"},
                self.rows["TARGET_INFO_CUDA_DEVICE"]
                or [dict(gpuId=gpu["id"], cudaId=gpu["id"], pid=pid) for gpu in self.gpus for pid in self.processes],
            )
        if form["meta"]:
            table(
                form["meta"],
                {"name": "t", "value": "t"},
                [
                    dict(name="EXPORT_PRODUCT_VERSION", value="2024.5.1.113"),
                    dict(name="EXPORT_SCHEMA_VERSION", value="3.14.1"),
                ],
            )
        database.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", ((number, text) for text, number in ids.items()))
        database.commit()
        database.close()
        return path


def drawn(steps=4):
    """Returns a small job: steps of one operator and one copy, as PyTorch's emit_nvtx() writes them, and a row of every
    other table.
    """
    export = Export()
    pid, loop = 1000, dict(pid=1000, tid=1000)
    export.gpus = [
        dict(vmId=0, id=0, name="NVIDIA H200", totalMemory=150_000_000_000, smCount=132, computeMajor=9, computeMinor=0)
    ]
    export.processes = {pid: "python train.py"}
    export.threads = {(pid, 1000): "loop"}
    export.add("NVTX_EVENTS", start=0, eventType=DOMAIN_CREATE, text="NCCL", globalTid=global_id(pid), domainId=3)
    correlation = 0
    for step in range(steps):
        at = 1_000_000 + step * 1_000_000
        export.range(f"step {step}", at, at + 900_000, **loop)
        export.range(
            f"aten::mm, seq = {step}, op_id = {step + 1}, sizes = [[64, 128], [128, 32]]",
            at + 1_000,
            at + 40_000,
            **loop,
        )
        for name, where, size in (
            ("cudaLaunchKernel_v7000", "gemm", 300_000),
            ("cudaMemcpyAsync_v3020", "copy", 20_000),
        ):
            correlation += 1
            begin = at + (5_000 if where == "gemm" else 60_000)
            export.call(name, begin, begin + 6_000, correlation=correlation, **loop)
            task = dict(pid=pid, device=0, stream=7, correlation=correlation)
            if where == "gemm":
                export.kernel(
                    "void gemm<float, 128>(float*)",
                    begin + 8_000,
                    begin + 8_000 + size,
                    grid=(8, 4, 1),
                    block=(128, 1, 1),
                    registers=64,
                    shared=4096,
                    **task,
                )
            else:
                export.task(
                    "MEMCPY",
                    begin + 300_000,
                    begin + 300_000 + size,
                    bytes=1 << 20,
                    copyKind=2,
                    srcKind=2,
                    dstKind=0,
                    **task,
                )
        export.range("ncclAllReduce", at + 100_000, at + 101_000, domain=3, **loop)
        correlation += 1
        export.call("cudaStreamSynchronize_v3020", at + 500_000, at + 600_000, correlation=correlation, **loop)
        export.task(
            "SYNCHRONIZATION",
            at + 500_000,
            at + 600_000,
            pid=pid,
            device=0,
            stream=7,
            correlation=correlation,
            syncType=3,
        )
    end = 1_000_000 + steps * 1_000_000
    export.task(
        "MEMSET", end, end + 1_000, pid=pid, device=0, stream=7, correlation=9999, value=0, bytes=256, memKind=2
    )
    export.range("epoch", 500_000, end, kind=START_END, **loop)
    export.range("checkpoint", end - 1, None, kind=MARK, **loop)
    export.add(
        "OSRT_API",
        start=end,
        end=end + 500,
        eventClass=27,
        globalTid=global_id(pid, 1000),
        nameId="poll",
        returnValue=0,
    )
    for address, operation in ((4096, 0), (8192, 0), (4096, 1)):
        export.add(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            start=1_000_000 + address + operation,
            globalPid=global_id(pid),
            deviceId=0,
            contextId=1,
            address=address,
            bytes=1 << 20,
            memKind=2,
            memoryOperationType=operation,
        )
    export.add("TARGET_INFO_GPU_METRICS", typeId=1 << 8, metricId=1, metricName="SMs Active [Throughput %]")
    for sample in range(3):
        export.add("GPU_METRICS", timestamp=1_000_000 + sample * 100_000, typeId=1 << 8, metricId=1, value=50 + sample)
    export.add("DIAGNOSTIC_EVENT", timestamp=0, severity=1, text="Profiling has started.")
    export.add("DIAGNOSTIC_EVENT", timestamp=1, severity=2, text="Not all CUDA events might have been collected.")
    return export


def nanoseconds(stamp):
    return int((decimal.Decimal(str(stamp)) * 1000).to_integral_value())


def from_kineto(trace, copies=1):
    """Returns the parsed events of a PyTorch profiler trace in Nsight's form, with operators as ranges of
    emit_nvtx().
    """
    export = Export()
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    base = min(nanoseconds(event["ts"]) for event in events)
    length = max(nanoseconds(event["ts"]) + nanoseconds(event.get("dur", 0)) for event in events) - base + 1_000_000
    on_host = [
        event for event in events if event.get("cat") in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
    ]
    pid = on_host[0]["pid"]
    export.processes = {pid: "python"}
    export.gpus = [
        dict(
            vmId=0,
            id=gpu["id"],
            name=gpu["name"],
            totalMemory=gpu["totalGlobalMem"],
            smCount=gpu["numSms"],
            computeMajor=gpu["computeMajor"],
            computeMinor=gpu["computeMinor"],
        )
        for gpu in trace.get("deviceProperties", [])
    ]
    for copy in range(copies):
        for number, event in enumerate(events):
            start = nanoseconds(event["ts"]) - base + copy * length
            # PyTorch writes ends as sums of decimals, so this does the same.
            end = start + nanoseconds(event.get("dur", 0))
            args, name, kind = event.get("args", {}), event["name"], event.get("cat")
            correlation = args.get("correlation")
            if correlation is not None:
                correlation += copy * 10_000_000
            where = (
                dict(pid=event["pid"], tid=event["tid"])
                if kind in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
                else None
            )
            on_device = dict(
                pid=pid,
                device=args.get("device"),
                stream=args.get("stream"),
                correlation=correlation,
                context=args.get("context", 1),
            )
            if kind == "cpu_op":
                sequence = f", seq = {args['Sequence number']}" if "Sequence number" in args else ""
                sizes = f", sizes = {json.dumps(args['Input Dims'])}" if args.get("Input Dims") else ""
                export.range(f"{name}{sequence}, op_id = {number + 1}{sizes}", start, end, **where)
            elif kind == "user_annotation":
                export.range(name, start, end, **where)
            elif kind in ("cuda_runtime", "cuda_driver"):
                export.call(
                    f"{name}_v7000" if kind == "cuda_runtime" else name, start, end, correlation=correlation, **where
                )
            elif kind == "kernel":
                export.kernel(
                    name,
                    start,
                    end,
                    grid=args["grid"],
                    block=args["block"],
                    registers=args["registers per thread"],
                    shared=args["shared memory"],
                    node=args.get("graph node id") or None,
                    **on_device,
                )
            elif kind == "gpu_memcpy":
                direction, source, target = re.fullmatch(r"Memcpy (\w+) \((.+) -> (.+)\)", name).groups()
                export.task(
                    "MEMCPY",
                    start,
                    end,
                    bytes=args["bytes"],
                    copyKind=COPY_KINDS.index(direction),
                    srcKind=MEMORY_KINDS.index(source),
                    dstKind=MEMORY_KINDS.index(target),
                    **on_device,
                )
            elif kind == "gpu_memset":
                export.task(
                    "MEMSET",
                    start,
                    end,
                    bytes=args["bytes"],
                    memKind=MEMORY_KINDS.index(re.fullmatch(r"Memset \((.+)\)", name)[1]),
                    **on_device,
                )
            elif kind == "cuda_sync":
                export.task("SYNCHRONIZATION", start, end, syncType=SYNC_TYPES[name], **on_device)
    return export


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--form", choices=FORMS, default="2024.5")
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    with gzip.open(options.trace) if options.trace.suffix == ".gz" else options.trace.open("rb") as file:
        from_kineto(json.load(file), options.copies).write(options.out, options.form)


if __name__ == "__main__":
    main()
