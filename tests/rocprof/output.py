#!/usr/bin/env python3
"""Makes files in the forms that ROCm's rocprofv3 writes: its JSON and its Perfetto trace.

    tests/rocprof/output.py TRACE.json.gz OUT.json|OUT.pftrace [--form 6.4] [--copies N]

The result is MADE, not recorded. Members, tracks and arguments follow the published source of rocprofiler-sdk. The
events come from a trace of PyTorch's profiler (`from_kineto`), or are a few written by hand (`drawn`). `--copies`
repeats the trace.

As a library: `Job` collects events of a process, times in nanoseconds; `write_json` and `write_pftrace` store them in
one of FORMS.
"""
import argparse
import decimal
import gzip
import json
import pathlib
import re
import struct

# Differences between versions of ROCm.
FORMS = {
    "6.1": dict(
        array=False,
        lists=("kernel_dispatches", "memory_copies"),
        streams=False,
        ancestors=False,
        ranges="MARKER_CORE_API",
        tracks="queue",
    ),
    "6.2": dict(
        array=True,
        lists=("kernel_dispatch", "memory_copy"),
        streams=False,
        ancestors=False,
        ranges="MARKER_CORE_API",
        tracks="queue",
    ),
    "6.4": dict(
        array=True,
        lists=("kernel_dispatch", "memory_copy"),
        streams=True,
        ancestors=False,
        ranges="MARKER_CORE_API",
        tracks="agent",
    ),
    "7.1": dict(
        array=True,
        lists=("kernel_dispatch", "memory_copy"),
        streams=True,
        ancestors=True,
        ranges="MARKER_CORE_RANGE_API",
        tracks="stream",
    ),
}
LISTS = {
    "HIP_RUNTIME_API": "hip_api",
    "HIP_COMPILER_API": "hip_api",
    "HSA_CORE_API": "hsa_api",
    "RCCL_API": "rccl_api",
    "MARKER": "marker_api",
}
CPU, GPU = 1, 2
GIB = 1 << 30


class Job:
    """Events of one process. Agents are named by their logical number."""

    def __init__(self, pid=4000, agents=((0, CPU), (1, GPU)), product="AMD Instinct MI300X"):
        self.pid, self.product = pid, product
        self.agents = dict(agents)
        self.kernels, self.copies, self.calls, self.allocations, self.scratch = [], [], [], [], []

    def handle(self, agent):
        """Handles are as large as hashes, and differ in each process."""
        return (0xF000_0000_0000_0000 + self.pid * 4096 + agent) & (2**64 - 1)

    def kernel(
        self,
        name,
        start,
        end,
        *,
        correlation,
        agent=1,
        stream=1,
        queue=None,
        tid=None,
        grid=(1, 1, 1),
        block=(64, 1, 1),
        shared=0,
        counters=None,
    ):
        """`counters`: values of hardware counters by name. A list has one value for each part of the GPU."""
        self.kernels.append(
            dict(
                name=name,
                start=start,
                end=end,
                correlation=correlation,
                agent=agent,
                stream=stream,
                queue=stream if queue is None else queue,
                tid=tid or self.pid,
                grid=grid,
                block=block,
                shared=shared,
                counters=counters or {},
            )
        )

    def counter_names(self):
        return sorted({name for row in self.kernels for name in row["counters"]})

    def counter(self, name):
        return 4096 + self.counter_names().index(name)

    def copy(self, direction, start, end, size, *, correlation, source, target, stream=1, tid=None):
        self.copies.append(
            dict(
                direction=direction,
                start=start,
                end=end,
                size=size,
                correlation=correlation,
                source=source,
                target=target,
                stream=stream,
                tid=tid or self.pid,
            )
        )

    def call(self, name, start, end, *, correlation=0, tid=None, kind="HIP_RUNTIME_API"):
        self.calls.append(
            dict(kind=kind, name=name, start=start, end=end, correlation=correlation, tid=tid or self.pid, text=None)
        )

    def range(self, text, start, end, *, correlation, tid=None, operation="roctxRangePushA"):
        self.calls.append(
            dict(
                kind="MARKER",
                name=operation,
                start=start,
                end=end,
                correlation=correlation,
                tid=tid or self.pid,
                text=text,
            )
        )

    def allocation(self, operation, start, end, address, size, *, agent):
        self.allocations.append(
            dict(operation=operation, start=start, end=end, address=address, size=size, agent=agent)
        )


def parts_of(values):
    return values if isinstance(values, list) else [values]


def kinds_of(jobs, form):
    """Returns the names of kinds and operations, with their numbers. The published order begins with NONE; so do
    operations of some kinds.
    """
    names: dict[str, list[str]] = {
        "NONE": [],
        "HSA_CORE_API": [],
        "HIP_RUNTIME_API": [],
        "HIP_COMPILER_API": [],
        "MARKER_CORE_API": [],
        "MARKER_CORE_RANGE_API": [],
        "RCCL_API": [],
        "MEMORY_COPY": [
            "MEMORY_COPY_NONE",
            "MEMORY_COPY_HOST_TO_HOST",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "MEMORY_COPY_DEVICE_TO_HOST",
            "MEMORY_COPY_DEVICE_TO_DEVICE",
        ],
        "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
        "MEMORY_ALLOCATION": [
            "MEMORY_ALLOCATION_NONE",
            "MEMORY_ALLOCATION_ALLOCATE",
            "MEMORY_ALLOCATION_VMEM_ALLOCATE",
            "MEMORY_ALLOCATION_FREE",
            "MEMORY_ALLOCATION_VMEM_FREE",
        ],
        "SCRATCH_MEMORY": ["SCRATCH_MEMORY_NONE", "SCRATCH_MEMORY_ALLOC", "SCRATCH_MEMORY_FREE"],
    }
    for job in jobs:
        for call in job.calls:
            operations = names[form["ranges"] if call["kind"] == "MARKER" else call["kind"]]
            if call["name"] not in operations:
                operations.append(call["name"])
    return names


def process_of(job, jobs, form):
    names = kinds_of(jobs, form)
    number = {kind: at for at, kind in enumerate(names)}

    def record(kind, operation, row):
        correlation = dict(internal=row["correlation"], external=0)
        if form["ancestors"]:
            correlation["ancestor"] = 0
        return dict(
            size=96,
            kind=number[kind],
            operation=names[kind].index(operation),
            thread_id=row["tid"],
            correlation_id=correlation,
            start_timestamp=row["start"],
            end_timestamp=row["end"],
        )

    def handle(agent):
        return dict(handle=job.handle(agent))

    symbols = list(dict.fromkeys(row["name"] for row in job.kernels))
    counted: list[dict] = []
    lists: dict[str, list] = {
        form["lists"][0]: [],
        "hip_api": [],
        "hsa_api": [],
        "marker_api": [],
        "rccl_api": [],
        form["lists"][1]: [],
        "memory_allocation": [],
        "scratch_memory": [],
        "pc_sample_host_trap": [dict(hw_id=dict(wave_id=n, chiplet=0), pc=dict(code_object_id=1)) for n in range(3)],
        "rocdecode_api": [],
    }
    for dispatch, row in enumerate(job.kernels):

        def axes(values):
            return dict(zip("xyz", values))

        info = dict(
            size=72,
            agent_id=handle(row["agent"]),
            queue_id=dict(handle=row["queue"]),
            kernel_id=symbols.index(row["name"]) + 1,
            dispatch_id=dispatch + 1,
            private_segment_size=0,
            group_segment_size=row["shared"],
            workgroup_size=axes(row["block"]),
            grid_size=axes([g * b for g, b in zip(row["grid"], row["block"])]),
        )
        made = record("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE", row) | dict(dispatch_info=info)
        if row["counters"]:
            records = [
                dict(counter_id=dict(handle=job.counter(name)), value=value)
                for name, values in row["counters"].items()
                for value in parts_of(values)
            ]
            times = {key: made[key] for key in ("correlation_id", "start_timestamp", "end_timestamp")}
            data = dict(size=128, dispatch_info=info) | times
            counted.append(dict(thread_id=row["tid"], dispatch_data=data, records=records))
        lists[form["lists"][0]].append(
            made | (dict(stream_id=dict(handle=row["stream"]), kernel_rename_val=0) if form["streams"] else {})
        )
    for row in job.copies:
        made = record("MEMORY_COPY", f"MEMORY_COPY_{row['direction']}", row) | dict(
            dst_agent_id=handle(row["target"]), src_agent_id=handle(row["source"]), bytes=row["size"]
        )
        lists[form["lists"][1]].append(made | (dict(stream_id=dict(handle=row["stream"])) if form["streams"] else {}))
    for row in job.calls:
        lists[LISTS[row["kind"]]].append(
            record(form["ranges"] if row["kind"] == "MARKER" else row["kind"], row["name"], row)
        )
    for row in job.allocations:
        lists["memory_allocation"].append(
            record("MEMORY_ALLOCATION", f"MEMORY_ALLOCATION_{row['operation']}", row | dict(correlation=0, tid=job.pid))
            | dict(
                agent_id=dict(handle=2**64 - 1) if row["agent"] is None else handle(row["agent"]),
                address=f"0x{row['address']:016x}",
                allocation_size=row["size"],
            )
        )
    for row in job.scratch:
        lists["scratch_memory"].append(
            record("SCRATCH_MEMORY", "SCRATCH_MEMORY_ALLOC", row)
            | dict(agent_id=handle(1), queue_id=dict(handle=1), flags=0)
        )

    def agent(number, kind):
        gpu = kind == GPU
        return dict(
            size=312,
            id=handle(number),
            type=kind,
            cpu_cores_count=0 if gpu else 96,
            cu_count=304 if gpu else 0,
            gfx_target_version=90402 if gpu else 0,
            name="gfx942" if gpu else "AMD EPYC 9654",
            vendor_name="AMD",
            product_name=job.product if gpu else "AMD EPYC 9654",
            model_name="",
            node_id=number,
            logical_node_id=number,
            logical_node_type_id=0,
            mem_banks=[dict(heap_type=1, flags=0, width=8192, mem_clk_max=1300, size_in_bytes=192 * GIB)],
        )

    command = ["/home/somebody/bin/python3", "train.py", "--token", "hunter2"]
    return {
        "metadata": dict(
            pid=job.pid,
            init_time=1,
            fini_time=10**15,
            config=dict(kernel_rename=False, output_path="/home/somebody"),
            command=command,
        ),
        "agents": [agent(*of) for of in job.agents.items()],
        "counters": [
            dict(agent_id=handle(1), id=dict(handle=job.counter(name)), is_constant=0, is_derived=1, name=name)
            for name in job.counter_names()
        ],
        "strings": {
            "callback_records": [dict(kind=kind, operations=operations) for kind, operations in names.items()],
            "buffer_records": [dict(kind=kind, operations=operations) for kind, operations in names.items()],
            "marker_api": [
                dict(key=row["correlation"], value=row["text"]) for row in job.calls if row["text"] is not None
            ],
            "correlation_id": dict(external=[]),
            "counters": dict(dimension_ids=[]),
            "pc_sample_instructions": [],
            "att_filenames": [],
        },
        "code_objects": [dict(size=80, code_object_id=1, uri="file:///opt/rocm/lib/libx.so#offset=4096&size=8192")],
        "kernel_symbols": [dict(size=80, kernel_id=0, kernel_name="")]
        + [
            dict(
                size=80,
                kernel_id=at + 1,
                code_object_id=1,
                kernel_name=f"{name}.kd",
                sgpr_count=32,
                arch_vgpr_count=48,
                accum_vgpr_count=16,
                formatted_kernel_name=name,
                demangled_kernel_name=f"{name} [clone .kd]",
                truncated_kernel_name=re.split(r"[<(]", name)[0],
            )
            for at, name in enumerate(symbols)
        ],
        "host_functions": [],
        "summary": [dict(domain="KERNEL_DISPATCH", stats=dict(count=len(job.kernels)))],
        "callback_records": dict(counter_collection=counted),
        "buffer_records": lists,
    }


def write_json(path, *jobs, form="6.4", change=lambda document: None):
    form = FORMS[form]
    processes = [process_of(job, jobs, form) for job in jobs]
    document = {"rocprofiler-sdk-tool": processes if form["array"] else processes[0]}
    change(document)
    path = pathlib.Path(path)
    path.write_text(json.dumps(document, indent=0))
    return path


# --- Perfetto's protobuf ---------------------------------------------------------------------------------------------


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


class Pftrace:
    """One sequence of packets in the SDK's form: interned names of events and annotations, an explicit stamp and track
    for each half.
    """

    def __init__(self, pid):
        self.packets, self.interned, self.pid = [], {}, pid
        boot, unix = 6, 1
        clocks = b"".join(
            field(1, field(1, clock) + field(2, stamp))
            for clock, stamp in ((boot, 1), (unix, 1_700_000_000_000_000_001))
        )
        self.packet(field(6, clocks + field(2, boot)), first=True)

    def packet(self, content, first=False):
        self.packets.append(field(1, field(10, 1) + field(13, 1 if first else 2) + content))

    def iid(self, kind, text, new):
        known = self.interned.setdefault(kind, {})
        if text not in known:
            known[text] = len(known) + 1
            new.append(field(kind, field(1, known[text]) + field(2, text)))
        return known[text]

    def track(self, uuid, name=None, **more):
        content = field(1, uuid) + (field(2, name) if name else b"")
        if more.get("thread"):
            content += field(4, field(1, self.pid) + field(2, more["thread"]))
        elif more.get("process"):
            content += field(3, field(1, self.pid))
        elif more.get("counter"):
            content += field(8, field(3, 3) + field(4, 1024))
        if not more.get("process"):
            content += field(5, 999)
        self.packet(field(60, content))
        return uuid

    def slice(self, category, name, track, start, end, **args):
        new, event = [], field(9, 1) + field(11, track)
        event += field(3, self.iid(1, category, new)) + field(10, self.iid(2, name, new))
        for key, value in args.items():
            event += field(
                4, field(1, self.iid(3, key, new)) + (field(3, value) if isinstance(value, int) else field(6, value))
            )
        event += varint(47 << 3 | 1) + struct.pack("<Q", args["corr_id"])
        self.packet((field(12, b"".join(new)) if new else b"") + field(8, start) + field(11, event))
        self.packet(field(8, end) + field(11, field(9, 2) + field(11, track) + field(3, self.iid(1, category, []))))

    def count(self, track, time, value):
        self.packet(field(8, time) + field(11, field(9, 4) + field(11, track) + field(30, value)))


def write_pftrace(path, job, form="6.4"):
    form = FORMS[form]
    names = kinds_of([job], form)
    number = {kind: at for at, kind in enumerate(names)}
    trace = Pftrace(job.pid)
    trace.track(999, process=True)
    tracks = {}

    def thread_track(tid):
        if tid not in tracks:
            main = tid == job.pid
            others = sum(isinstance(key, int) for key in tracks) + 1
            tracks[tid] = trace.track(tid, thread=tid) if main else trace.track(tid, f"THREAD {others} ({tid})")
        return tracks[tid]

    def named_track(name):
        if name not in tracks:
            tracks[name] = trace.track(hash(name) & (2**63 - 1), name)
        return tracks[name]

    def times(row, kind, operation):
        return dict(
            begin_ns=row["start"],
            end_ns=row["end"],
            delta_ns=row["end"] - row["start"],
            kind=number[kind],
            operation=operation,
        )

    def common(row):
        return dict(corr_id=row["correlation"], **({"ancestor_id": row["correlation"]} if form["ancestors"] else {}))

    def type_of(agent):
        return "(GPU)" if job.agents[agent] == GPU else "(CPU)"

    for kind in (
        "HSA_CORE_API",
        "HIP_RUNTIME_API",
        "HIP_COMPILER_API",
        "MARKER",
        "RCCL_API",
    ):  # Ordered by kind in the file, not by time.
        for row in (row for row in job.calls if row["kind"] == kind):
            of = form["ranges"] if kind == "MARKER" else kind
            trace.slice(
                LISTS[kind],
                row["name"] if row["text"] is None else row["text"],
                thread_track(row["tid"]),
                row["start"],
                row["end"],
                tid=row["tid"],
                **times(row, of, names[of].index(row["name"])),
                **common(row),
                **({"stream_ID": 1} if form["tracks"] == "stream" and kind.startswith("HIP") else {}),
            )
    for row in job.copies:
        where = {
            "queue": f"COPY to AGENT [{row['target']}] THREAD [0] {type_of(row['target'])}",
            "agent": f"COPY to AGENT [{row['target']}] STREAM [{row['stream']}] {type_of(row['target'])}",
            "stream": f"STREAM [{row['stream']}]",
        }[form["tracks"]]
        operation = f"MEMORY_COPY_{row['direction']}"
        trace.slice(
            "memory_copy",
            operation,
            named_track(where),
            row["start"],
            row["end"],
            **times(row, "MEMORY_COPY", names["MEMORY_COPY"].index(operation)),
            src_agent=f"Agent-{row['source']}",
            dst_agent=f"Agent-{row['target']}",
            copy_bytes=row["size"],
            tid=row["tid"],
            **common(row),
            **({"stream_ID": row["stream"]} if form["tracks"] == "stream" else {}),
        )
    symbols = list(dict.fromkeys(row["name"] for row in job.kernels))
    for row in job.kernels:
        where = {
            "queue": f"COMPUTE AGENT [{row['agent']}] QUEUE [{row['queue']}] (GPU)",
            "agent": f"COMPUTE AGENT [{row['agent']}] STREAM [{row['stream']}] (GPU)",
            "stream": f"STREAM [{row['stream']}]",
        }[form["tracks"]]

        def volume(values):
            return values[0] * values[1] * values[2]

        trace.slice(
            "kernel_dispatch",
            f"{row['name']} [clone .kd]",
            named_track(where),
            row["start"],
            row["end"],
            **{k: v for k, v in times(row, "KERNEL_DISPATCH", 2).items() if k != "operation"},
            agent=f"Agent-{row['agent']}",
            queue=row["queue"],
            tid=row["tid"],
            kernel_id=symbols.index(row["name"]) + 1,
            private_segment_size=0,
            group_segment_size=row["shared"],
            workgroup_size=volume(row["block"]),
            grid_size=volume(row["grid"]) * volume(row["block"]),
            **common(row),
            **({"stream_ID": row["stream"]} if form["tracks"] == "stream" else {}),
        )
    if job.copies:
        counter = trace.track(77, "COPY BYTES to Agent [1] (GPU)", counter=True)
        for row in job.copies:
            trace.count(counter, row["start"], row["size"] // 1024)
            trace.count(counter, row["end"], 0)
    path = pathlib.Path(path)
    path.write_bytes(b"".join(trace.packets))
    return path


# --- Jobs ------------------------------------------------------------------------------------------------------------


def drawn(steps=4, pid=4000, product="AMD Instinct MI300X"):
    """Returns a small job: steps with an operator, a copy there and back, a collective on a second stream, and a
    wait."""
    job = Job(pid, product=product)
    worker = pid + 7
    correlation = 0

    def take():
        nonlocal correlation
        correlation += 1
        return correlation

    for step in range(steps):
        at = 1_000_000 + step * 1_000_000
        job.range(f"step {step}", at, at + 900_000, correlation=take())
        first = take()
        job.call("hipMemcpyAsync", at + 1_000, at + 6_000, correlation=first)
        job.call("hsa_amd_memory_async_copy_on_engine", at + 2_000, at + 4_000, correlation=take(), kind="HSA_CORE_API")
        job.copy("HOST_TO_DEVICE", at + 8_000, at + 40_000, 1 << 20, correlation=first, source=0, target=1)
        job.range(
            f"aten::mm, seq = {step}, op_id = {step + 1}, sizes = [[64, 128], [128, 32]]",
            at + 10_000,
            at + 50_000,
            correlation=take(),
        )
        launch = take()
        job.call("__hipPushCallConfiguration", at + 11_000, at + 11_500, correlation=take(), kind="HIP_COMPILER_API")
        job.call("hipLaunchKernel", at + 12_000, at + 18_000, correlation=launch)
        job.kernel(
            "void gemm<float, 128>(float*)",
            at + 50_000,
            at + 350_000,
            correlation=launch,
            grid=(8, 4, 2),
            block=(128, 2, 1),
            shared=4096,
        )
        job.call("ncclAllReduce", at + 60_000, at + 90_000, correlation=take(), kind="RCCL_API")
        launch = take()
        job.call("hipExtLaunchKernel", at + 65_000, at + 70_000, correlation=launch, tid=worker)
        job.kernel(
            "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
            at + 300_000,
            at + 420_000,
            correlation=launch,
            stream=2,
            tid=worker,
        )
        back = take()
        job.call("hipMemcpyAsync", at + 100_000, at + 104_000, correlation=back)
        job.copy("DEVICE_TO_HOST", at + 430_000, at + 440_000, 1 << 12, correlation=back, source=1, target=0)
        job.call("hipStreamSynchronize", at + 200_000, at + 445_000, correlation=take())
    job.allocation("ALLOCATE", 100_000, 110_000, 0x7F00_0000_0000, 1 << 30, agent=1)
    job.allocation("ALLOCATE", 120_000, 130_000, 0x7E00_0000_0000, 1 << 20, agent=0)
    job.allocation("ALLOCATE", 140_000, 150_000, 0x7F10_0000_0000, 1 << 29, agent=1)
    job.allocation("FREE", 160_000, 170_000, 0x7F00_0000_0000, 0, agent=None)
    job.allocation("FREE", 180_000, 190_000, 0x1234, 0, agent=None)
    return job


def nanoseconds(stamp):
    return int((decimal.Decimal(str(stamp)) * 1000).to_integral_value())


def from_kineto(trace, copies=1):
    """Returns the parsed events of a PyTorch profiler trace on an AMD GPU in rocprofv3's form, with operators as ranges
    of emit_nvtx().
    """
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    base = min(nanoseconds(event["ts"]) for event in events) - 1_000_000
    length = max(nanoseconds(event["ts"]) + nanoseconds(event.get("dur", 0)) for event in events) - base + 1_000_000
    pid = next(event["pid"] for event in events if event.get("cat") == "cpu_op")
    properties = (trace.get("deviceProperties") or [{}])[0]
    gpus = {event["args"]["device"] for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
    job = Job(pid, agents=[(number, GPU) for number in sorted(gpus)] + [(100, CPU)], product=properties.get("name", ""))
    own = 1 << 40  # Correlations of ranges.
    for copy in range(copies):
        for number, event in enumerate(events):
            start = nanoseconds(event["ts"]) - base + copy * length
            end = start + nanoseconds(event.get("dur", 0))
            args, name, kind = event.get("args", {}), event["name"], event.get("cat")
            correlation = args.get("correlation", 0) + copy * 10_000_000
            if kind == "cpu_op":
                sequence = f", seq = {args['Sequence number']}" if "Sequence number" in args else ""
                job.range(
                    f"{name}{sequence}, op_id = {number + 1}",
                    start,
                    end,
                    correlation=(own := own + 1),
                    tid=event["tid"],
                )
            elif kind == "user_annotation":
                job.range(name, start, end, correlation=(own := own + 1), tid=event["tid"])
            elif kind in ("hip_runtime", "cuda_runtime"):
                job.call(name, start, end, correlation=correlation, tid=event["tid"])
            elif kind == "kernel":
                job.kernel(
                    name,
                    start,
                    end,
                    correlation=correlation,
                    agent=args["device"],
                    stream=args["stream"],
                    grid=args.get("grid", (1, 1, 1)),
                    block=args.get("block", (1, 1, 1)),
                )
            elif kind == "gpu_memset":  # HIP fills memory with its own kernel.
                job.kernel(
                    "__amd_rocclr_fillBufferAligned",
                    start,
                    end,
                    correlation=correlation,
                    agent=args["device"],
                    stream=args["stream"],
                )
            elif kind == "gpu_memcpy":
                ends = {
                    "HtoD": ("HOST_TO_DEVICE", 100, args["device"]),
                    "DtoH": ("DEVICE_TO_HOST", args["device"], 100),
                }
                direction, source, target = next(
                    (of for key, of in ends.items() if key in name or f"{key[0]}ost" in name.split("To")[0]),
                    ("DEVICE_TO_DEVICE", args["device"], args["device"]),
                )
                job.copy(
                    direction,
                    start,
                    end,
                    args.get("bytes", 0),
                    correlation=correlation,
                    source=source,
                    target=target,
                    stream=args["stream"],
                )
    return job


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--form", choices=FORMS, default="6.4")
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    with gzip.open(options.trace) if options.trace.suffix == ".gz" else options.trace.open("rb") as file:
        job = from_kineto(json.load(file), options.copies)
    if options.out.suffix == ".pftrace":
        write_pftrace(options.out, job, form=options.form)
    else:
        write_json(options.out, job, form=options.form)


if __name__ == "__main__":
    main()
