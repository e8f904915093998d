#!/usr/bin/env python3
"""Makes memory snapshots in the form of torch.cuda.memory._dump_snapshot(): the simulated allocator of a small training
loop.

    tests/memory_snapshot.py FILE [STEPS]     writes one snapshot

The result is generated, not recorded. Names of keys, actions and states are those of PyTorch 2.x. The numbers follow
from the loop below.
"""
import pickle
import sys

START_US = 1_760_000_000_000_000
MIB = 1 << 20
MODEL, TRAIN = "/home/me/project/model.py", "/home/me/project/train.py"
TORCH = "/opt/venv/lib/python3.11/site-packages/torch"


def frame(filename, line, name):
    return {"filename": filename, "line": line, "name": name}


def operator(name):
    """Returns frames of an operator called from Python, innermost first."""
    return [
        frame("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(...)"),
        frame("??", 0, "at::native::empty_cuda(...)"),
        frame("??", 0, f"at::_ops::{name}::redispatch(c10::DispatchKeySet, at::Tensor const&)"),
        frame("??", 0, f"at::_ops::{name}::call(at::Tensor const&)"),
    ]


class Loop:
    """Simulates `layers` layers. Output, weight and gradient have `mib` MiB each; Adam keeps two more per layer."""

    def __init__(self, layers=3, mib=4):
        self.layers, self.bytes = layers, mib * MIB
        self.trace, self.live, self.allocated, self.peak = [], {}, 0, 0
        self.us, self.next = START_US, 0x7F0000000000
        self.log("segment_alloc", self.next, 64 * layers * self.bytes, [])

    def log(self, action, address, size, frames):
        self.us += 10
        self.trace.append(
            {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.us, "frames": frames}
        )

    def allocate(self, frames):
        address, self.next = self.next, self.next + self.bytes
        self.log("alloc", address, self.bytes, frames)
        self.live[address] = frames
        self.allocated += self.bytes
        self.peak = max(self.peak, self.allocated)
        return address

    def free(self, address, frames):
        self.log("free_requested", address, self.bytes, frames)
        self.log("free_completed", address, self.bytes, frames)
        del self.live[address]
        self.allocated -= self.bytes

    def run(self, steps=3):
        main = frame(TRAIN, 7, "main")
        module = frame(f"{TORCH}/nn/modules/module.py", 1501, "_call_impl")
        engine = [
            frame("??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"),
            frame("??", 0, "torch::autograd::Engine::thread_main(...)"),
        ]
        weights = [
            self.allocate(operator("empty_memory_format") + [frame(MODEL, 5, "__init__"), main])
            for _ in range(self.layers)
        ]
        state = []
        for step in range(steps):
            loop = frame(TRAIN, 20, "main")
            outputs = [
                self.allocate(
                    operator("addmm")
                    + [
                        frame(f"{TORCH}/nn/modules/linear.py", 116, "forward"),
                        module,
                        frame(MODEL, 12 + i, "forward"),
                        module,
                        loop,
                    ]
                )
                for i in range(self.layers)
            ]
            gradients = []
            for output in reversed(outputs):
                gradients.append(
                    self.allocate(
                        operator("mm")
                        + [frame("??", 0, "torch::autograd::generated::AddmmBackward0::apply(...)")]
                        + engine
                    )
                )
                self.free(output, engine)
            adam = [frame(f"{TORCH}/optim/adam.py", 141, "step"), frame(TRAIN, 23, "main")]
            if not state:
                state = [self.allocate(operator("zeros_like") + adam) for _ in range(2 * self.layers)]
            temporary = self.allocate(operator("sqrt") + adam)
            self.free(temporary, adam)
            for gradient in gradients:
                self.free(gradient, [frame(TRAIN, 24, "main")])
        self.kept = weights + state
        return self

    def snapshot(self):
        size = 64 * self.layers * self.bytes
        blocks = [
            {
                "address": a,
                "size": self.bytes,
                "requested_size": self.bytes,
                "state": "active_allocated",
                "frames": frames,
            }
            for a, frames in sorted(self.live.items())
        ]
        rest = size - len(blocks) * self.bytes
        blocks.append({"address": self.next, "size": rest, "requested_size": 0, "state": "inactive", "frames": []})
        segment = {
            "device": 0,
            "address": 0x7F0000000000,
            "total_size": size,
            "stream": 0,
            "segment_type": "large",
            "allocated_size": self.allocated,
            "active_size": self.allocated,
            "requested_size": self.allocated,
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": blocks,
        }
        return {
            "segments": [segment],
            "device_traces": [self.trace],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "",
                "max_split_size": -1,
                "garbage_collection_threshold": 0.0,
                "expandable_segments": False,
            },
            "external_annotations": [],
        }


def dump(snapshot, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.dumps(snapshot, protocol)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1], "wb") as out:
        out.write(dump(Loop().run(int(sys.argv[2]) if len(sys.argv) > 2 else 3).snapshot()))
