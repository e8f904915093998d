"""A slow, simple reader of Chakra execution traces, and a simulator that uses only dependencies and durations.

Follows the public et_def.proto, not the writer in src/export. REQUIRES only the standard library.
"""
import dataclasses
import heapq
import struct
import typing

COMP, COLL = 4, 7
METADATA = 1


def varint(data, at):
    if data[at] < 128:  # Fast path: most values take one byte.
        return data[at], at + 1
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(message):
    """Yields (number, value) of each field: an int for a varint, bytes for a field with a length."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        elif key & 7 == 1:
            (value,), at = struct.unpack_from("<d", message, at), at + 8
        elif key & 7 == 2:
            size, at = varint(message, at)
            value, at = message[at : at + size], at + size
            if len(value) != size:
                raise ValueError("a field ends behind its message")
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def messages(data):
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        if at + size > len(data):
            raise ValueError("a message ends behind the file")
        yield data[at : at + size]
        at += size


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def varints(packed):
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


def elements(message):
    return (element for _, element in fields(message))


# Decoders, keyed by the number of the field that holds the value.
ATTRIBUTE_VALUES: dict[int, typing.Callable] = {
    4: lambda content: list(elements(content)),
    7: signed,
    9: signed,
    10: lambda content: [signed(i) for packed in elements(content) for i in varints(packed)],
    13: lambda content: content,
    27: bool,
    29: bytes.decode,
    30: lambda content: [text.decode() for text in elements(content)],
}


def attribute(message):
    name, value = "", None
    for number, content in fields(message):
        if number == 1:
            name = content.decode()
        else:
            value = ATTRIBUTE_VALUES[number](content)
    return name, value


@dataclasses.dataclass
class Node:
    id: int = 0
    name: str = ""
    type: int = 0
    ctrl_deps: list = dataclasses.field(default_factory=list)
    data_deps: list = dataclasses.field(default_factory=list)
    start: int = 0  # Microseconds.
    duration: int = 0  # Microseconds.
    inputs: dict = dataclasses.field(default_factory=dict)
    attributes: dict = dataclasses.field(default_factory=dict)

    @property
    def end(self):
        return self.start + self.duration


def node(message):
    out = Node()
    for number, value in fields(message):
        if number in (4, 5) and isinstance(value, bytes):  # Packed.
            at, unpacked = 0, []
            while at < len(value):
                one, at = varint(value, at)
                unpacked.append(one)
        else:
            unpacked = [value]
        if number == 1:
            out.id = value
        elif number == 2:
            out.name = value.decode()
        elif number == 3:
            out.type = value
        elif number == 4:
            out.ctrl_deps += unpacked
        elif number == 5:
            out.data_deps += unpacked
        elif number == 6:
            out.start = value
        elif number == 7:
            out.duration = value
        elif number == 8:
            out.inputs = {n: text.decode() for n, text in fields(value)}
        elif number == 9:
            pass  # Outputs.
        elif number == 10:
            name, content = attribute(value)
            out.attributes[name] = content
        else:
            raise ValueError(f"field {number} of a node")
    return out


def read(path):
    """Returns the attributes of the metadata, and the nodes by id."""
    first, *rest = messages(path.read_bytes())
    metadata = dict(attribute(value) for number, value in fields(first) if number == 2)
    nodes = [node(message) for message in rest]
    by_id = {n.id: n for n in nodes}
    if len(by_id) != len(nodes):
        raise ValueError("an id stands for two nodes")
    return metadata, by_id


def simulate(nodes, duration=lambda node: node.duration, on_one_resource=False):
    """Returns {id: end of the node}. A node begins when all its dependencies have ended.

    on_one_resource: like ASTRA-sim's default. The host, the GPU and communication each run one computation at a time.
    Among nodes that could begin, the lowest id begins.
    """

    def resource(n):
        return "host" if n.attributes.get("is_cpu_op") else "network" if n.type in (5, 6, 7) else "gpu"

    children, waits = {}, {}
    for n in nodes.values():
        deps = set(n.ctrl_deps) | set(n.data_deps)
        waits[n.id] = len(deps)
        for dep in deps:
            if dep not in nodes:
                raise ValueError(f"node {n.id} depends on {dep}, which is not there")
            children.setdefault(dep, []).append(n.id)
    ends, ready, running, busy, now = {}, {}, [], set(), 0
    for i, count in waits.items():
        if not count:
            heapq.heappush(ready.setdefault(resource(nodes[i]), []), i)
    while any(ready.values()) or running:
        for kind, queue in ready.items():
            while queue and (not on_one_resource or kind not in busy):
                i = heapq.heappop(queue)
                busy.add(kind)
                heapq.heappush(running, (now + duration(nodes[i]), i))
        now, i = heapq.heappop(running)
        ends[i] = now
        busy.discard(resource(nodes[i]))
        for child in children.get(i, ()):
            waits[child] -= 1
            if not waits[child]:
                heapq.heappush(ready.setdefault(resource(nodes[child]), []), child)
    if len(ends) != len(nodes):
        raise ValueError("dependencies go round in a circle")
    return ends
