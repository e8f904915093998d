#!/usr/bin/env python3
"""Makes damaged copies of a small trace: cut at every byte, one byte flipped at every position, plain and gzip.

    tests/damage.py TRACE.json FOLDER     writes all copies, for inspection or to seed a fuzzer

As a library: each maker yields (name, bytes, least), where `least` is the number of events that a reader must keep, or
None if any result is allowed. Deterministic.
"""
import gzip
import json
import pathlib
import random
import sys
import zlib

SEED = 1


def event_spans(data):
    """Returns [start, end) in bytes of each element of the event list of a well-formed, ASCII trace."""
    text = data.decode("ascii")
    at = text.index("[", text.index('"traceEvents"') if text.lstrip().startswith("{") else 0) + 1
    decoder, spans = json.JSONDecoder(), []
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return spans
        _, end = decoder.raw_decode(text, at)
        spans.append((at, end))
        at = end


def complete_before(spans, length):
    return sum(end <= length for _, end in spans)


def cuts(data):
    """Yields every proper prefix. A reader must keep each event that is complete in it."""
    spans = event_spans(data)
    for k in range(len(data)):
        yield f"cut-{k}.json", data[:k], complete_before(spans, k)


def gzip_of(data):
    return gzip.compress(data, 6, mtime=0)


def gzip_cuts(data):
    """Yields every proper prefix of the gzip file. A reader must keep each event that is complete in the
    decompressed text."""
    spans, packed = event_spans(data), gzip_of(data)
    for k in range(len(packed)):
        yield f"cut-{k}.json.gz", packed[:k], complete_before(spans, len(zlib.decompressobj(31).decompress(packed[:k])))


def unfolded(packed):
    """Returns the decompressed text of a damaged gzip file, up to the damage."""
    inflate, out = zlib.decompressobj(31), b""
    try:
        for i in range(len(packed)):
            out += inflate.decompress(packed[i : i + 1])
    except zlib.error:
        pass
    return out


def flipped(data, k, rng):
    return (
        data[:k]
        + bytes([data[k] ^ (1 << rng.randrange(8) if rng.random() < 0.5 else rng.randrange(1, 256))])
        + data[k + 1 :]
    )


def flips(data):
    """Yields copies with one changed byte, for every position. A change inside an event may cost that event and the
    next, where the reader resynchronizes. A change between events has no limit."""
    rng, spans = random.Random(SEED), event_spans(data)
    inside = [False] * len(data)
    for start, end in spans:
        inside[start + 1 : end - 1] = [True] * (end - start - 2)
    for k in range(len(data)):
        yield f"flip-{k}.json", flipped(data, k, rng), len(spans) - 2 if inside[k] else None


def gzip_flips(data):
    """Yields copies of the gzip file with one changed byte, for every position. A reader must only give an answer."""
    rng, packed = random.Random(SEED), gzip_of(data)
    for k in range(len(packed)):
        yield f"flip-{k}.json.gz", flipped(packed, k, rng), None


MAKERS = {"cuts": cuts, "gzip_cuts": gzip_cuts, "flips": flips, "gzip_flips": gzip_flips}


def sample(cases, count):
    """Returns `count` of the cases, chosen with a fixed seed, including the first and the last; all if count is
    None."""
    cases = list(cases)
    if count is None or count >= len(cases):
        return cases
    chosen = {0, len(cases) - 1, *random.Random(SEED).sample(range(len(cases)), count)}
    return [cases[i] for i in sorted(chosen)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, folder = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for maker in MAKERS.values():
        for name, damaged, _ in maker(data):
            (folder / name).write_bytes(damaged)


if __name__ == "__main__":
    main()
