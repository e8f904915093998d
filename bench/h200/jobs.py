"""Measures training jobs on one GPU: their steps without a profiler, and traces by PyTorch's profiler.

usage: jobs.py FOLDER SECONDS GROUP [PATTERN]

Writes FOLDER/truth_GROUP.json and traces. Starts no job after SECONDS. GROUP `changes`: models, unchanged and with
changes of precision, optimizer, batch and others. GROUP `kinds`: jobs for tests/frameworks/recordings. PATTERN
selects jobs by name. Requires PyTorch, torchvision, timm, Transformers and pynvml.
"""

import gc
import json
import os
import re
import sys
import time
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule

FOLDER, BUDGET, GROUP = sys.argv[1], float(sys.argv[2]), sys.argv[3]
PATTERN = re.compile(sys.argv[4] if len(sys.argv) > 4 else "")
BEGIN = time.time()
GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda:0" if GPU else "cpu")
LEAST_S = 0.8 if GPU else 0.0
ACTIVITIES = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if GPU else [])
SMALL = not GPU


def wait():
    if GPU:
        torch.cuda.synchronize()


def vit():
    import timm  # type: ignore[import]

    m = timm.create_model("vit_small_patch16_224", num_classes=1000)
    return (
        m,
        lambda b: (torch.randn(b, 3, 224, 224), torch.randint(0, 1000, (b,))),
        lambda m, x, y: F.cross_entropy(m(x), y),
    )


def convnext():
    import torchvision

    m = torchvision.models.convnext_tiny(weights=None)
    return (
        m,
        lambda b: (torch.randn(b, 3, 224, 224), torch.randint(0, 1000, (b,))),
        lambda m, x, y: F.cross_entropy(m(x), y),
    )


def mobilenet():
    import torchvision

    m = torchvision.models.mobilenet_v3_large(weights=None)
    return (
        m,
        lambda b: (torch.randn(b, 3, 224, 224), torch.randint(0, 1000, (b,))),
        lambda m, x, y: F.cross_entropy(m(x), y),
    )


def llama(attention="eager"):
    from transformers import LlamaConfig, LlamaForCausalLM

    c = LlamaConfig(
        hidden_size=1024,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=4,
        intermediate_size=2816,
        vocab_size=32000,
        use_cache=False,
    )
    c._attn_implementation = attention
    m = LlamaForCausalLM(c)
    return (
        m,
        lambda b: (torch.randint(0, 32000, (b, 1024)), torch.zeros(b)),
        lambda m, x, y: m(input_ids=x, labels=x).loss,
    )


def t5(attention="eager"):
    from transformers import T5Config, T5ForConditionalGeneration

    m = T5ForConditionalGeneration(T5Config(decoder_start_token_id=0, use_cache=False))
    return (
        m,
        lambda b: (torch.randint(1, 32000, (b, 256)), torch.randint(1, 32000, (b, 64))),
        lambda m, x, y: m(input_ids=x, labels=y).loss,
    )


class Block(nn.Module):
    def __init__(s, i, o, t=256):
        super().__init__()
        s.n1, s.c1, s.n2, s.c2 = (
            nn.GroupNorm(32, i),
            nn.Conv2d(i, o, 3, padding=1),
            nn.GroupNorm(32, o),
            nn.Conv2d(o, o, 3, padding=1),
        )
        s.e, s.r = nn.Linear(t, o), nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(s, x, e):
        h = s.c1(F.silu(s.n1(x))) + s.e(e)[:, :, None, None]
        return s.r(x) + s.c2(F.silu(s.n2(h)))


class Attention(nn.Module):
    def __init__(s, c, heads=4):
        super().__init__()
        s.n, s.q, s.p, s.h = nn.GroupNorm(32, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1), heads

    def forward(s, x):
        b, c, h, w = x.shape
        q, k, v = s.q(s.n(x)).reshape(b, 3, s.h, c // s.h, h * w).transpose(-1, -2).unbind(1)
        attended = F.scaled_dot_product_attention(q, k, v)  # type: ignore[attr-defined]
        return x + s.p(attended.transpose(-1, -2).reshape(b, c, h, w))


class UNet(nn.Module):
    def __init__(s, c=64):
        super().__init__()
        s.t, s.first = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256)), nn.Conv2d(3, c, 3, padding=1)
        w = [c, 2 * c, 4 * c, 4 * c]
        s.down, s.up, i, skips = nn.ModuleList(), nn.ModuleList(), c, [c]
        for level, o in enumerate(w):
            for _ in range(2):
                s.down.append(nn.ModuleList([Block(i, o), Attention(o) if level > 1 else nn.Identity()]))
                i = o
                skips.append(o)
            if level < 3:
                s.down.append(nn.ModuleList([nn.Conv2d(o, o, 3, 2, 1)]))
                skips.append(o)
        s.mid = nn.ModuleList([Block(i, i), Attention(i), Block(i, i)])
        for level, o in reversed(list(enumerate(w))):
            for j in range(3):
                s.up.append(
                    nn.ModuleList(
                        [
                            Block(i + skips.pop(), o),
                            Attention(o) if level > 1 else nn.Identity(),
                            nn.Upsample(scale_factor=2) if level and j == 2 else nn.Identity(),
                        ]
                    )
                )
                i = o
        s.last = nn.Sequential(nn.GroupNorm(32, i), nn.SiLU(), nn.Conv2d(i, 3, 3, padding=1))

    def forward(s, x, t):
        e, x = s.t(t), s.first(x)
        kept = [x]
        for d in s.down:
            x = d[0](x) if len(d) == 1 else d[1](d[0](x, e))
            kept.append(x)
        x = s.mid[2](s.mid[1](s.mid[0](x, e)), e)
        for b, a, u in s.up:
            x = u(a(b(torch.cat([x, kept.pop()], 1), e)))
        return s.last(x)


def unet():
    return UNet(), lambda b: (torch.randn(b, 3, 64, 64), torch.rand(b, 1)), lambda m, x, y: F.mse_loss(m(x, y), x)


def mlp():
    m = nn.Sequential(
        *[x for _ in range(12) for x in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())], nn.Linear(512, 10)
    )
    return m, lambda b: (torch.randn(b, 512), torch.randint(0, 10, (b,))), lambda m, x, y: F.cross_entropy(m(x), y)


class Recommender(nn.Module):
    def __init__(s, tables=16, rows=200000, d=64):
        super().__init__()
        s.e = nn.ModuleList(nn.EmbeddingBag(rows, d, mode="sum") for _ in range(tables))
        s.b = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, d), nn.ReLU())
        n = (tables + 1) * tables // 2 + d
        s.t = nn.Sequential(nn.Linear(n, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))
        s.register_buffer("ij", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def forward(s, x, ids):
        d = s.b(x)
        z = torch.stack([d] + [e(ids[:, i]) for i, e in enumerate(s.e)], 1)
        z = torch.bmm(z, z.transpose(1, 2))[:, s.ij[0], s.ij[1]]
        return s.t(torch.cat([d, z], 1)).squeeze(1)


def dlrm():
    return (
        Recommender(),
        lambda b: (torch.randn(b, 13), torch.randint(0, 200000, (b, 16, 4))),
        lambda m, x, y: F.binary_cross_entropy_with_logits(m(x, y), (x[:, 0] > 0).float()),
    )


MODELS = {
    "vit": (vit, 64, "adam"),
    "convnext": (convnext, 32, "adam"),
    "mobilenet": (mobilenet, 64, "sgd"),
    "llama": (llama, 4, "adam"),
    "t5": (t5, 16, "adam"),
    "unet": (unet, 32, "adam"),
    "mlp": (mlp, 256, "adam"),
    "dlrm": (dlrm, 4096, "sgd"),
}
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def optimizer_of(kind, form, parameters):
    options = {"forloop": dict(foreach=False, fused=False), "foreach": dict(foreach=True), "fused": dict(fused=True)}[
        form
    ]
    return (
        torch.optim.SGD(parameters, 1e-3, momentum=0.9, **options)
        if kind == "sgd"
        else torch.optim.AdamW(parameters, 1e-5, **options)
    )


def make(cfg):
    """Returns a function that runs a step, and the facts of the job."""
    build, batch, kind = MODELS[cfg["model"]]
    batch = cfg.get("bs", batch)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = bool(cfg.get("tf32"))
    model, data, loss_of = build(cfg["attn"]) if "attn" in cfg else build()  # type: ignore[operator]
    model = model.to(DEVICE).train()
    if cfg.get("channels_last"):
        model = model.to(memory_format=torch.channels_last)
    optimizer = optimizer_of(kind, cfg.get("opt", "forloop"), model.parameters())
    dtype = TYPES.get(cfg.get("amp"))
    scaler = torch.amp.GradScaler("cuda", enabled=cfg.get("amp") == "fp16" and GPU)
    x, y = data(2 if SMALL else batch)
    if GPU:
        x, y = x.pin_memory(), y.pin_memory()
    if cfg.get("channels_last") and x.dim() == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    forward = torch.compile(model) if cfg.get("compile") else model

    def step():
        a, b = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE.type, dtype, enabled=dtype is not None):
            loss = loss_of(forward, a, b)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if cfg.get("item"):
            loss.item()

    if cfg.get("graph"):
        xs, ys = x.to(DEVICE), y.to(DEVICE)
        optimizer = (
            torch.optim.AdamW(model.parameters(), 1e-5, fused=True, capturable=True)
            if kind == "adam"
            else torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9, fused=True)
        )

        def body():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(DEVICE.type, dtype, enabled=dtype is not None, cache_enabled=False):
                loss_of(forward, xs, ys).backward()
            optimizer.step()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                body()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            body()

        def replay():
            xs.copy_(x, non_blocking=True)
            ys.copy_(y, non_blocking=True)
            graph.replay()

    return replay if cfg.get("graph") else step, dict(bs=batch, params=sum(p.numel() for p in model.parameters()))


def energy():
    return pynvml.nvmlDeviceGetTotalEnergyConsumption(HANDLE) if GPU else 0


def measure(step):
    for _ in range(6):
        step()
    wait()
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    times, e0, t0 = [], energy(), time.perf_counter()
    while len(times) < (12 if GPU else 1) or time.perf_counter() - t0 < LEAST_S:
        t = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - t)
        if len(times) >= 300:
            break
    n, times = len(times), sorted(times)
    out = dict(
        step_ms_sync=1e3 * times[n // 2],
        p10=1e3 * times[n // 10],
        p90=1e3 * times[9 * n // 10],
        energy_mJ_per_step=(energy() - e0) / n,
    )
    rounds = []
    for _ in range(3):
        k = max(8, n // 3) if GPU else 1
        t = time.perf_counter()
        for _ in range(k):
            step()
        wait()
        rounds.append(1e3 * (time.perf_counter() - t) / k)
    out.update(step_ms_async=sorted(rounds)[1], async_rounds=rounds)
    if GPU:
        out["mem_alloc_MB"] = torch.cuda.max_memory_allocated() / 2**20
    return out


def trace(step, name, active=3):
    """Records steps of a job after two steps that warm the profiler up. Returns the file's name."""
    with profile(
        activities=ACTIVITIES,
        schedule=schedule(wait=1, warmup=2, active=active, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda p: p.export_chrome_trace(os.path.join(FOLDER, name + ".json")),
    ) as p:
        for _ in range(3 + active):
            step()
            p.step()
        wait()
    return name + ".json"


def trace_unmarked(step, count, name):
    """Records steps without marks. Returns the facts of the recording."""
    with profile(activities=ACTIVITIES, record_shapes=True) as p:
        for _ in range(count):
            step()
        wait()
    p.export_chrome_trace(os.path.join(FOLDER, name + ".json"))
    return dict(trace=name + ".json", true_steps=count)


def save(rows):
    info = dict(torch=torch.__version__, cpus=os.cpu_count())
    if GPU:
        info.update(gpu=torch.cuda.get_device_name(), cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version())
    json.dump(dict(info=info, results=rows), open(os.path.join(FOLDER, f"truth_{GROUP}.json"), "w"), indent=0)


CHANGES: dict[str, list[dict]] = {
    "vit": [
        {},
        dict(amp="bf16"),
        dict(amp="fp16"),
        dict(tf32=True),
        dict(opt="fused"),
        dict(bs=16),
        dict(bs=128),
        dict(graph=True, opt="fused"),
        dict(compile=True),
    ],
    "llama": [
        {},
        dict(amp="bf16"),
        dict(tf32=True),
        dict(opt="fused"),
        dict(attn="sdpa"),
        dict(bs=1),
        dict(bs=8),
        dict(amp="bf16", attn="sdpa", opt="fused"),
        dict(compile=True),
    ],
    "convnext": [
        {},
        dict(amp="fp16"),
        dict(amp="bf16"),
        dict(tf32=True),
        dict(opt="fused"),
        dict(bs=64),
        dict(channels_last=True),
    ],
    "mobilenet": [
        {},
        dict(amp="fp16"),
        dict(tf32=True),
        dict(opt="fused"),
        dict(bs=256),
        dict(graph=True, opt="fused"),
    ],
    "t5": [{}, dict(amp="bf16"), dict(tf32=True), dict(opt="foreach"), dict(opt="fused"), dict(bs=64)],
    "unet": [
        {},
        dict(amp="bf16"),
        dict(amp="fp16"),
        dict(tf32=True),
        dict(opt="fused"),
        dict(bs=8),
        dict(bs=64),
        dict(graph=True, opt="fused"),
    ],
    "mlp": [
        {},
        dict(amp="bf16"),
        dict(tf32=True),
        dict(opt="foreach"),
        dict(opt="fused"),
        dict(bs=4096),
        dict(graph=True, opt="fused"),
    ],
    "dlrm": [{}, dict(amp="fp16"), dict(tf32=True), dict(opt="fused"), dict(bs=16384)],
}


def changes():
    rows = []
    for model, list_of in CHANGES.items():
        for change in list_of:
            cfg = dict(model=model, **change)
            name = "_".join([model] + [f"{k}-{v}" for k, v in change.items()])
            if not PATTERN.search(name):
                continue
            if time.time() - BEGIN > BUDGET:
                print("no time for", name, flush=True)
                continue
            try:
                step, row = make(cfg)
                row.update(cfg=cfg, **measure(step))
                if not change:
                    row["trace"] = trace(step, name)
                rows.append(row)
                print(
                    f"{time.time() - BEGIN:5.0f}s {name}: {row['step_ms_sync']:.3f} ms, {row['step_ms_async']:.3f} ms",
                    flush=True,
                )
            except Exception as e:
                print("FAILED", name, repr(e)[:300], flush=True)
                traceback.print_exc()
                rows.append(dict(cfg=cfg, error=repr(e)[:500]))
            step = None
            gc.collect()
            if GPU:
                torch.cuda.empty_cache()
            save(rows)


def convnet():
    torch.manual_seed(0)
    layers, c = [], 3
    for o in (64, 128, 256, 256):
        layers += [nn.Conv2d(c, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]
        c = o
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(c * 16, 10)).to(DEVICE)


def kind_validation():
    """Runs 24 training steps without marks, with a validation of 5 batches after every 8th."""
    m = convnet()
    o = torch.optim.AdamW(m.parameters(), 1e-3)
    x, y = torch.randn(64, 3, 64, 64), torch.randint(0, 10, (64,))
    count = [0]

    def train():
        loss = F.cross_entropy(m(x.to(DEVICE)), y.to(DEVICE))
        o.zero_grad()
        loss.backward()
        o.step()

    def validate():
        m.eval()
        with torch.no_grad():
            for _ in range(5):
                F.cross_entropy(m(x.to(DEVICE)), y.to(DEVICE)).item()
        m.train()

    def step():
        train()
        count[0] += 1
        if count[0] % 8 == 0:
            validate()

    row = measure(train)
    return dict(row, **trace_unmarked(step, 24, "validation"))


def kind_accumulation():
    m = convnet()
    o = torch.optim.AdamW(m.parameters(), 1e-3)
    x, y = torch.randn(64, 3, 64, 64, device=DEVICE), torch.randint(0, 10, (64,), device=DEVICE)

    def step():
        for _ in range(4):
            (F.cross_entropy(m(x), y) / 4).backward()
        o.step()
        o.zero_grad()

    row = measure(step)
    return dict(row, **trace_unmarked(step, 6, "accumulation"))


def kind_graph_capture():
    """Records the capture of a graph and its replays in two traces, for --capture."""
    m = convnet().eval()
    x = torch.randn(16, 3, 64, 64, device=DEVICE)
    side = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):
            m(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), profile(activities=ACTIVITIES, record_shapes=True, with_stack=True) as p:
        with torch.cuda.graph(graph):
            m(x)
        wait()
    p.export_chrome_trace(os.path.join(FOLDER, "graph_capture.json"))
    with profile(activities=ACTIVITIES, record_shapes=True) as p:
        for _ in range(12):
            graph.replay()
        wait()
    p.export_chrome_trace(os.path.join(FOLDER, "graph_replays.json"))
    return dict(trace="graph_capture.json")


def kind_reduce_overhead():
    """Trains with torch.compile and CUDA graph trees."""
    m = convnet()
    o = torch.optim.AdamW(m.parameters(), 1e-3, fused=True)
    c = torch.compile(m, mode="reduce-overhead")
    x, y = torch.randn(64, 3, 64, 64, device=DEVICE), torch.randint(0, 10, (64,), device=DEVICE)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        o.zero_grad()
        F.cross_entropy(c(x), y).backward()
        o.step()

    row = measure(step)
    row["trace"] = trace(step, "reduce_overhead", active=4)
    return row


KINDS = {
    "accumulation": kind_accumulation,
    "graph_capture": kind_graph_capture,
    "reduce_overhead": kind_reduce_overhead,
    "validation": kind_validation,
}


def kinds():
    rows = []
    for name, job in KINDS.items():
        if not PATTERN.search(name):
            continue
        if time.time() - BEGIN > BUDGET:
            print("no time for", name, flush=True)
            continue
        t = time.time()
        try:
            row = dict(job(), kind=name)
            print(f"{time.time() - BEGIN:5.0f}s {time.time() - t:4.1f}s {name}: {json.dumps(row)[:160]}", flush=True)
        except Exception as e:
            row = dict(kind=name, error=repr(e)[:500])
            print("FAILED", name, repr(e)[:300], flush=True)
            traceback.print_exc()
        rows.append(row)
        gc.collect()
        if GPU:
            torch.cuda.empty_cache()
        save(rows)


os.makedirs(FOLDER, exist_ok=True)
if GPU:
    import pynvml  # type: ignore[import]

    pynvml.nvmlInit()
    HANDLE = pynvml.nvmlDeviceGetHandleByIndex(0)
{"changes": changes, "kinds": kinds}[GROUP]()
