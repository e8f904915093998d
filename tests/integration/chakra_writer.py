"""Writes Chakra execution traces in the form of Chakra's own converter from PyTorch's execution traces.

Host nodes have self times. Callers are in `ctrl_deps`, the order of execution in `data_deps`. There are no start times.
Follows the public et_def.proto and the converter's documentation, not the reader in src/ingest.
"""
import struct

METADATA, COMP, COLL = 1, 4, 7
ALL_REDUCE = 0
STEPS, FIRST_STEP = 3, 4
COMMUNICATION_MICROS = STEPS * 120
TASKS = STEPS * 3


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def content(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    """Returns one attribute: a bool, a string, a double, or an int64, as the converter writes them."""
    if isinstance(value, bool):
        one = number(27, value)
    elif isinstance(value, str):
        one = content(29, value)
    elif isinstance(value, float):
        one = varint(3 << 3 | 1) + struct.pack("<d", value)
    else:
        one = number(9, value)
    return content(1, name) + one


def message(text):
    return varint(len(text)) + text


def metadata(**attributes):
    return message(b"".join(content(2, attribute(name, value)) for name, value in attributes.items()))


class Trace:
    def __init__(self):
        self.id, self.last, self.messages = 0, None, []

    def node(self, name, kind, micros, caller, deps, shapes="[]", types="[]", values="[]", **attributes):
        self.id += 1
        text = number(1, self.id) + content(2, name) + number(3, kind)
        text += content(4, varint(caller)) if caller else b""  # Packed, as in proto3.
        text += content(5, b"".join(map(varint, deps))) if deps else b""
        text += number(7, micros) if micros else b""
        text += content(8, content(1, values) + content(2, shapes) + content(3, types))
        text += content(9, content(1, "[]") + content(2, "[]") + content(3, "[]"))
        text += b"".join(content(10, attribute(key, value)) for key, value in attributes.items())
        self.messages.append(message(text))
        return self.id

    def host(self, name, micros, caller=None, scope=0, tid=1, **more):
        kind = METADATA if "process_group:init" in name else COMP
        self.last = self.node(
            name,
            kind,
            micros,
            caller,
            [self.last] if self.last else [],
            rf_id=self.id,
            fw_parent=0,
            seq_id=-1,
            scope=scope,
            tid=tid,
            fw_tid=0,
            op_schema="",
            is_cpu_op=True,
            **more,
        )
        return self.last

    def gpu(self, name, micros, caller, kind=COMP, stream=7, **more):
        return self.node(
            name,
            kind,
            micros,
            caller,
            [self.last],
            rf_id=0,
            fw_parent=0,
            seq_id=-1,
            scope=0,
            tid=stream,
            fw_tid=0,
            op_schema="",
            is_cpu_op=False,
            stream=stream,
            **more,
        )


def converted():
    """Returns a loop of a matrix product, a pointwise operation and an all-reduce between two ranks. The GPU is
    slower than the host.
    """
    trace = Trace()
    root = trace.host("[pytorch|profiler|execution_trace|thread]", 0, scope=7)
    trace.host("## process_group:init ##", 0, root, values='[\'[{"pg_name": "0", "ranks": [0, 1]}]\']')
    for step in range(FIRST_STEP, FIRST_STEP + STEPS):
        around = trace.host(f"ProfilerStep#{step}", 2, root, scope=7)
        linear = trace.host("aten::linear", 4, around)
        product = trace.host(
            "aten::addmm",
            10,
            linear,
            shapes="[[32], [8, 64], [64, 32], [], []]",
            types="['Tensor(float)', 'Tensor(float)', 'Tensor(float)', 'Int', 'Int']",
        )
        trace.gpu("ampere_sgemm_32x32_sliced1x4_tn", 300, product)
        relu = trace.host("aten::relu", 6, around, shapes="[[8, 32]]", types="['Tensor(float)']")
        trace.gpu("void at::native::vectorized_elementwise_kernel<4>()", 40, relu)
        reduce = trace.host("c10d::allreduce_", 9, around)
        trace.gpu(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            120,
            reduce,
            COLL,
            stream=20,
            comm_type=ALL_REDUCE,
            comm_size=4096,
            pg_name="0",
        )
    return metadata(
        schema="1.1.1-chakra.0.0.4", pid=4711, time="2026-01-01 00:00:00", start_ts=0, finish_ts=1
    ) + b"".join(trace.messages)
