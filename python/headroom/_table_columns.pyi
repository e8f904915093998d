"""The columns of each table of a trace, as docs/tables.md describes them. Written by tests/python/table_stub.py."""

import numpy as np
from numpy.typing import NDArray

from headroom.arrays import NullableArray, TextColumn
from headroom.tables import Table
from headroom.tables import Tables as AllTables

class Processes(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    pid: TextColumn
    """Process id as the source writes it; a device number for device tracks."""
    name: TextColumn
    """Process name."""
    labels: TextColumn
    """Labels, e.g. CPU or GPU 0."""

class Threads(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    process_id: NDArray[np.uint32]
    """Process of the thread. A row of processes."""
    tid: TextColumn
    """Thread id as the source writes it; a stream number for device tracks."""
    name: TextColumn
    """Thread name."""

class Devices(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    ordinal: NDArray[np.int64]
    """Device number in its process, as the profiler counts; -1 if not recorded."""
    name: TextColumn
    """Product name."""
    memory_bytes: NullableArray
    """bytes. Global memory."""
    sm_count: NullableArray
    """Streaming multiprocessors or compute units."""
    compute_major: NullableArray
    """Compute capability, major."""
    compute_minor: NullableArray
    """Compute capability, minor."""

class Streams(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    device_id: NDArray[np.uint32]
    """Device of the stream. A row of devices."""
    number: NDArray[np.int64]
    """Stream number as the profiler writes it; -1 if not recorded."""

class HostEvents(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    start_ns: NDArray[np.int64]
    """ns. Start on the trace clock."""
    duration_ns: NDArray[np.int64]
    """ns. Length; 0 if shorter than the clock's resolution or damaged (see the import log)."""
    name: TextColumn
    """Name as the source writes it."""
    category: TextColumn
    """Category as the source writes it."""
    thread_id: NDArray[np.uint32]
    """Thread or device track. A row of threads."""
    kind: TextColumn
    """Operator, call, annotation, frame, ... One of python_frame, annotation, operator, runtime_call, driver_call,
    overhead, gpu_annotation, other."""
    correlation: NullableArray
    """Joins an API call to its GPU tasks."""
    external_id: NullableArray
    """The profiler's id of the operator; for a call, the id of the operator that made the call."""
    sequence: NullableArray
    """Autograd sequence number: joins forward to backward."""
    forward_thread: NullableArray
    """The framework's number of the forward thread, for backward operators."""
    python_id: NullableArray
    """Id of a Python frame."""
    python_parent_id: NullableArray
    """Id of the calling Python frame."""
    event_index: NullableArray
    """The profiler's sequential number of the event."""
    record_function: NullableArray
    """Record function id."""
    args: TextColumn
    """Members of `args` that have no column, as JSON text."""
    parent_id: NullableArray
    """Innermost event of the same thread that contains this one, within the precision of the timestamps, or none. A row
    of host_events."""

class GpuTasks(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    start_ns: NDArray[np.int64]
    """ns. Start, device time mapped to the trace clock."""
    duration_ns: NDArray[np.int64]
    """ns. Length; 0 if shorter than the clock's resolution or damaged."""
    name: TextColumn
    """Kernel or copy name, as the source writes it."""
    stream_id: NDArray[np.uint32]
    """Stream, which determines the device. A row of streams."""
    kind: TextColumn
    """Kernel, copy or set. One of kernel, memcpy, memset."""
    copy: TextColumn
    """Direction of a copy. One of host_to_device, device_to_host, device_to_device, peer, other."""
    correlation: NullableArray
    """Joins the task to the call that launched it; shared by all nodes of a graph launch."""
    external_id: NullableArray
    """The profiler's id of the operator that launched the task."""
    grid_x: NullableArray
    """blocks. Grid size."""
    grid_y: NullableArray
    """blocks. Grid size."""
    grid_z: NullableArray
    """blocks. Grid size."""
    block_x: NullableArray
    """threads. Block size."""
    block_y: NullableArray
    """threads. Block size."""
    block_z: NullableArray
    """threads. Block size."""
    registers: NullableArray
    """Registers per thread."""
    shared_memory_bytes: NullableArray
    """bytes. Shared memory per block."""
    occupancy_pct: NullableArray
    """%. Estimated achieved occupancy."""
    graph_node: NullableArray
    """Node id within a launched CUDA graph."""
    bytes: NullableArray
    """bytes. Bytes copied or set."""
    args: TextColumn
    """Members of `args` that have no column, as JSON text."""
    launch_id: NullableArray
    """The call that launched the task, joined by correlation, or none. A row of host_events."""

class Syncs(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    start_ns: NDArray[np.int64]
    """ns. Start of the wait."""
    duration_ns: NDArray[np.int64]
    """ns. Length of the wait."""
    kind: TextColumn
    """Object of the wait: a context, a stream or an event. One of context, stream, event, stream_wait_event, other."""
    stream_id: NullableArray
    """Stream that is synchronized or waits. A row of streams."""
    correlation: NullableArray
    """Joins to the API call."""
    wait_on_stream: NullableArray
    """Number of the stream whose event is waited for."""
    wait_on_correlation: NullableArray
    """Correlation of the call that recorded the event."""
    args: TextColumn
    """Members of `args` that have no column, as JSON text."""

class Flows(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    time_ns: NDArray[np.int64]
    """ns. Time of this end of the arrow."""
    category: TextColumn
    """ac2g (launch to task), fwdbwd (forward to backward), or another category."""
    arrow_id: NullableArray
    """Arrow id: equal for start and finish."""
    phase: TextColumn
    """Start, step or finish. One of start, step, finish."""
    thread_id: NDArray[np.uint32]
    """Track of this end. A row of threads."""

class Counters(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    time_ns: NDArray[np.int64]
    """ns. Time of the sample."""
    name: TextColumn
    """Counter name."""
    series: TextColumn
    """Series of the counter (the key in `args`)."""
    unit: TextColumn
    """Unit of the value, as the source writes it."""
    thread_id: NDArray[np.uint32]
    """Track of the counter. A row of threads."""
    value: NDArray[np.float64]
    """Sampled value, in the unit of the counter."""

class MemoryEvents(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    time_ns: NDArray[np.int64]
    """ns. Time of the allocation or free."""
    thread_id: NDArray[np.uint32]
    """Thread that allocates or frees. A row of threads."""
    address: NullableArray
    """Address."""
    bytes: NullableArray
    """bytes. Allocated bytes; negative for a free."""
    total_allocated_bytes: NullableArray
    """bytes. Total bytes allocated by the framework, right after the event."""
    total_reserved_bytes: NullableArray
    """bytes. Total bytes reserved by the caching allocator, right after the event."""
    device_type: NullableArray
    """0 host, 1 CUDA, 6 HIP."""
    device: NullableArray
    """Device number; -1 for the host."""
    event_index: NullableArray
    """The profiler's sequential number of the event."""

class Instants(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    time_ns: NDArray[np.int64]
    """ns. Time of the instant."""
    name: TextColumn
    """Name."""
    category: TextColumn
    """Category; empty if the source has none."""
    thread_id: NDArray[np.uint32]
    """Track. A row of threads."""
    args: TextColumn
    """`args` of the instant, as JSON text."""

class Steps(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    number: NDArray[np.int64]
    """Step number as annotated; negative if the name has no number."""
    start_ns: NDArray[np.int64]
    """ns. Start of the host-side annotation."""
    duration_ns: NDArray[np.int64]
    """ns. Length of the host-side annotation."""
    thread_id: NDArray[np.uint32]
    """Thread that runs the training loop. A row of threads."""
    event_id: NullableArray
    """The annotation of the step. A row of host_events."""

class Collectives(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    task_id: NDArray[np.uint32]
    """The communication kernel. A row of gpu_tasks."""
    name: TextColumn
    """Collective, e.g. allreduce."""
    dtype: TextColumn
    """Element type."""
    process_group: TextColumn
    """Name of the process group."""
    in_elements: NullableArray
    """elements. Elements sent per rank."""
    out_elements: NullableArray
    """elements. Elements received per rank."""
    group_size: NullableArray
    """ranks. Ranks in the group."""

class HostAttribution(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    phase: TextColumn
    """Step phase of the event or task. One of other, forward, backward, optimizer, data_wait, callback, host_to_device,
    communication."""
    operator_id: NullableArray
    """Innermost operator around the event, or around the task's launch. A row of host_events."""
    operator: TextColumn
    """Name of that operator."""
    layer_id: NullableArray
    """Innermost module or layer range; in backward, that of the forward operator. A row of host_events."""
    layer: TextColumn
    """Name of that layer."""
    line_id: NullableArray
    """Innermost Python frame of the user's code; in backward, that of the forward operator. A row of host_events."""
    line: TextColumn
    """Name of that frame: file, line, function."""
    step: NullableArray
    """Number of the step in which the event begins or the task was launched."""
    forward_id: NullableArray
    """In backward: the forward operator that created the innermost enclosing autograd node. A row of host_events."""
    recomputed: NDArray[np.bool_]
    """1 inside a forward operator that runs again in backward (checkpointing)."""

class GpuAttribution(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    phase: TextColumn
    """Step phase of the event or task. One of other, forward, backward, optimizer, data_wait, callback, host_to_device,
    communication."""
    operator_id: NullableArray
    """Innermost operator around the event, or around the task's launch. A row of host_events."""
    operator: TextColumn
    """Name of that operator."""
    layer_id: NullableArray
    """Innermost module or layer range; in backward, that of the forward operator. A row of host_events."""
    layer: TextColumn
    """Name of that layer."""
    line_id: NullableArray
    """Innermost Python frame of the user's code; in backward, that of the forward operator. A row of host_events."""
    line: TextColumn
    """Name of that frame: file, line, function."""
    step: NullableArray
    """Number of the step in which the event begins or the task was launched."""

class StepTimes(Table):
    id: NDArray[np.uint32]
    """Number of the row."""
    number: NDArray[np.int64]
    """Step number, as in the columns `step`."""
    start_ns: NDArray[np.int64]
    """ns. Start of `wall_ns`."""
    wall_ns: NDArray[np.int64]
    """ns. Time from the end of the previous step's GPU work to the end of this step's."""
    gpu_busy_ns: NullableArray
    """ns. Time in `wall_ns` in which the GPU is busy."""
    host_start_ns: NDArray[np.int64]
    """ns. Start of the step on the host."""
    host_ns: NullableArray
    """ns. Length of the annotation."""
    host_wait_ns: NDArray[np.int64]
    """ns. GPU idle time caused by late launches."""
    tasks: NDArray[np.int64]
    """GPU tasks launched in the step."""
    queue_depth_mean: NDArray[np.float64]
    """tasks. Mean number of tasks launched but not started, over the launches of the step."""
    queue_depth_max: NDArray[np.int64]
    """tasks. Maximum number of tasks launched but not started, over the launches of the step."""
    whole: NDArray[np.bool_]
    """0 if the step lost tasks, which makes its times unreliable."""

class Tables(AllTables):
    processes: Processes
    threads: Threads
    devices: Devices
    streams: Streams
    host_events: HostEvents
    gpu_tasks: GpuTasks
    syncs: Syncs
    flows: Flows
    counters: Counters
    memory_events: MemoryEvents
    instants: Instants
    steps: Steps
    collectives: Collectives
    host_attribution: HostAttribution
    gpu_attribution: GpuAttribution
    step_times: StepTimes
