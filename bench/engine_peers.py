#!/usr/bin/env python3
"""The work of scanline-engine-bench done by PyTorch, or the matrix products of it alone.

Usage: engine_peers.py gemms|eager [--model tiny] [--frames 8] [--threads 2] [--runs 5]
                       [--device cuda [--batch 1 --batch 8 ...]]
  gemms   at::linear of the shapes of every layer and of the patch embedding, over the whole
          sequence, fp32; and the same by oneDNN with weights laid out for it beforehand
  eager   the whole model, written from docs/models.md in plain PyTorch, with a scan in chunks; by
          all threads, and by one alone; with --device cuda in batches under bf16 autocast, as it
          is (eager) and captured in one CUDA graph (graph: what launching costs taken away)
The model: tiny, small, middle (official shapes, weights by the generator of
tests/data/reference/README.md), or a bundle's folder. Prints one JSON line: seconds of the wall and
of all threads a clip, of every run; and, of eager, the class logits.
"""

import argparse
import json
import math
import pathlib
import struct
import time

import numpy
import torch
from torch.nn import functional

from engine_report import OFFICIAL

SEED = 1
CLASSES = 400
CHUNK = 48  # tokens: the fastest of 16 to 128 for Tiny with 8 frames


def mixed(name, count):
    """The 64-bit values of tests/data/reference/README.md."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    z = (numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
         + numpy.uint64(value ^ SEED))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> numpy.uint64(shift))) * numpy.uint64(factor)
    return z ^ (z >> numpy.uint64(31))


def spread(name, shape):
    fan_in = math.prod(shape[1:])
    if name.endswith((".D", ".D_b")):
        return 1, 0.1
    if "dt_proj" in name:
        return (-4, 2) if name.endswith(".bias") else (0, shape[1] ** -0.5)
    if "conv1d" in name:
        return 0, 0.1 if name.endswith(".bias") else 0.5
    if name in ("cls_token", "pos_embed", "temporal_pos_embedding"):
        return 0, 0.2
    if name.endswith(".bias"):
        return 0, 0.1
    if len(shape) == 1:
        return 1, 0.1
    return 0, (0.5 if name.endswith("out_proj.weight") else 1) * math.sqrt(3 / fan_in)


def generate(name, shape):
    count = math.prod(shape)
    u = (mixed(name, count) >> numpy.uint64(40)).astype(numpy.float64) * 2.0**-24
    if name.endswith(("A_log", "A_b_log")):
        offset, scale = numpy.log(numpy.arange(count) % shape[1] + 1.0), 0.1
    else:
        offset, scale = spread(name, shape)
    return torch.from_numpy((offset + scale * (2 * u - 1)).astype(numpy.float32).reshape(shape))


class Config:
    """The sizes of a model, and where its weights are."""

    def __init__(self, model, frames):
        self.size, self.patch, self.tubelet, self.conv, self.state = 224, 16, 1, 4, 16
        self.frames = frames or 8
        self.order, self.pool = "spatial_first", "cls"
        self.mean, self.std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        self.stored, self.classes = None, CLASSES
        if "/" in model:
            self.read_bundle(pathlib.Path(model))
        else:
            self.dim, self.depth = OFFICIAL[model]
            self.rank = math.ceil(self.dim / 16)
        self.inner = 2 * self.dim
        self.cells = (self.size // self.patch) ** 2
        self.steps = self.frames // self.tubelet
        self.tokens = 1 + self.steps * self.cells

    def read_bundle(self, folder):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        b = config["backbone"]
        if (b["mixer"], b.get("norm", "rms"), b.get("expand", 2), b.get("norm_eps", 1e-5)) != (
                "videomamba", "rms", 2, 1e-5) or config["preprocess"].get("range") != "unit":
            raise SystemExit("engine_peers.py: this peer has the mixer videomamba, rms, expand 2")
        self.size, self.patch, self.tubelet = b["size"], b["patch"], b["tubelet"]
        self.frames, self.dim, self.depth = b["frames"], b["embed_dim"], b["depth"]
        self.state, self.conv = b.get("d_state", 16), b.get("d_conv", 4)
        self.rank = b.get("dt_rank", math.ceil(self.dim / 16))
        self.order, self.pool = b.get("scan_order", "spatial_first"), b.get("pool", "cls")
        self.mean, self.std = config["preprocess"]["mean"], config["preprocess"]["std"]
        self.stored = read_safetensors(folder / config["weights"]["file"])
        self.classes = len(self.stored["head.bias"])

    def tensor(self, name, *shape):
        made = generate(name, shape) if self.stored is None else self.stored[name].reshape(shape)
        return made.to(torch.get_default_device())


def read_safetensors(path):
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            kind = {"F32": numpy.float32, "F16": numpy.float16}[entry["dtype"]]
            values = numpy.frombuffer(data[begin:end], kind).astype(numpy.float32)
            tensors[name] = torch.from_numpy(values.reshape(entry["shape"]))
    return tensors


class Direction:
    def __init__(self, c, layer, end):
        get = lambda name, *shape: c.tensor(f"layers.{layer}.mixer.{name}", *shape)
        self.conv_weight = get(f"conv1d{end}.weight", c.inner, 1, c.conv)
        self.conv_bias = get(f"conv1d{end}.bias", c.inner)
        self.x_proj = get(f"x_proj{end}.weight", c.rank + 2 * c.state, c.inner)
        self.dt_weight = get(f"dt_proj{end}.weight", c.inner, c.rank)
        self.dt_bias = get(f"dt_proj{end}.bias", c.inner)
        self.a = -torch.exp(get("A_log" if not end else "A_b_log", c.inner, c.state))
        self.d = get(f"D{end}", c.inner)
        self.parts = (c.rank, c.state, c.state)

    def run(self, x):
        """[batch, length, inner] in scan order to y."""
        width = self.conv_weight.shape[2]
        u = functional.conv1d(functional.pad(x.mT, (width - 1, 0)), self.conv_weight,
                              self.conv_bias, groups=x.shape[2]).mT
        u = functional.silu(u)
        # Rows of all sequences: a product of three-dimensional ones would copy them first.
        dt, b, c = functional.linear(u.flatten(0, 1), self.x_proj).split(self.parts, dim=1)
        delta = functional.softplus(functional.linear(dt, self.dt_weight, self.dt_bias))
        delta, b, c = (v.unflatten(0, u.shape[:2]) for v in (delta, b, c))
        with torch.autocast(x.device.type, enabled=False):
            return scan(u.float(), delta.float(), self.a, b.float(), c.float()) + self.d * u


def scan(u, delta, a, b, c):
    """h = exp(delta a) h + delta b u, y = c h, [batch, length, inner], in chunks of CHUNK tokens, fp32.

    All chunks of all sequences go side by side, token by token, from a state of zero; then the states go from chunk
    to chunk; then what each chunk began with is added, decayed by the exponential of a sum, which
    cannot overflow.
    """
    batch, length, inner = u.shape
    chunks = math.ceil(length / CHUNK)
    fill = chunks * CHUNK - length
    rows = lambda v: functional.pad(v, (0, 0, 0, fill)).reshape(batch * chunks, CHUNK, -1)
    delta, b, c = rows(delta), rows(b), rows(c)
    step = delta * rows(u)
    h = u.new_zeros(batch * chunks, inner, a.shape[1])
    y = u.new_empty(batch * chunks, CHUNK, inner)
    for t in range(CHUNK):
        decay = torch.exp(delta[:, t, :, None] * a)
        h = torch.addcmul(step[:, t, :, None] * b[:, t, None, :], decay, h)
        torch.matmul(h, c[:, t, :, None], out=y[:, t, :, None])
    if chunks > 1:
        sums = delta.cumsum(1)
        over = torch.exp(sums[:, -1, :, None] * a)
        begin = torch.zeros_like(h)
        of = lambda v, i: v.view(batch, chunks, inner, -1)[:, i]
        for i in range(1, chunks):
            of(begin, i).copy_(torch.addcmul(of(h, i - 1), of(over, i - 1), of(begin, i - 1)))
        for t in range(CHUNK):
            y[:, t] += torch.matmul(torch.exp(sums[:, t, :, None] * a) * begin,
                                    c[:, t, :, None])[..., 0]
    return y.view(batch, -1, inner)[:, :length]


class Model:
    def __init__(self, c):
        self.c = c
        self.mean, self.std = torch.tensor(c.mean), torch.tensor(c.std)
        length = 3 * c.tubelet * c.patch * c.patch
        self.patch_weight = c.tensor("patch_embed.proj.weight", c.dim, 3, c.tubelet, c.patch,
                                     c.patch)
        self.patch_bias = c.tensor("patch_embed.proj.bias", c.dim)
        self.cls = c.tensor("cls_token", 1, 1, c.dim)[0]
        self.space = c.tensor("pos_embed", 1, 1 + c.cells, c.dim)[0]
        self.time = c.tensor("temporal_pos_embedding", 1, c.steps, c.dim)[0]
        self.layers = []
        for i in range(c.depth):
            get = lambda name, *shape, i=i: c.tensor(f"layers.{i}.{name}", *shape)
            self.layers.append((get("norm.weight", c.dim),
                                get("mixer.in_proj.weight", 2 * c.inner, c.dim),
                                get("mixer.out_proj.weight", c.dim, c.inner),
                                Direction(c, i, ""), Direction(c, i, "_b")))
        self.norm = c.tensor("norm_f.weight", c.dim)
        pooled = 3 * c.dim if "max" in c.pool else c.dim
        self.head = (c.tensor("head.weight", c.classes, pooled), c.tensor("head.bias", c.classes))
        self.length = length

    def embed(self, pictures):
        """uint8 [batch, frames, size, size, 3] to tokens in scan order."""
        c = self.c
        video = ((pictures.float() / 255 - self.mean) / self.std).permute(0, 4, 1, 2, 3)
        x = functional.conv3d(video, self.patch_weight, self.patch_bias,
                              stride=(c.tubelet, c.patch, c.patch))
        x = x.flatten(3).permute(0, 2, 3, 1) + self.space[1:] + self.time[:, None]
        if c.order == "temporal_first":
            x = x.transpose(1, 2)
        cls = (self.cls + self.space[:1]).expand(len(x), 1, c.dim)
        return torch.cat((cls, x.reshape(len(x), -1, c.dim)), dim=1)

    def forward(self, pictures):
        residual = self.embed(pictures)
        for norm, in_proj, out_proj, forward, backward in self.layers:
            x, z = functional.linear(rms(residual, norm), in_proj).chunk(2, dim=2)
            y = forward.run(x) + backward.run(x.flip(1)).flip(1)
            residual = residual + functional.linear(y * functional.silu(z), out_proj)
        n = rms(residual, self.norm)
        return functional.linear(torch.stack([self.pooled(one) for one in n]), *self.head)

    def pooled(self, n):
        c = self.c
        if c.pool == "cls":
            return n[0]
        sides = (c.cells, c.steps) if c.order == "temporal_first" else (c.steps, c.cells)
        steps = n[1:].view(*sides, c.dim)
        steps = steps.transpose(0, 1) if c.order == "temporal_first" else steps
        average = steps.mean((0, 1)) + (n[0] if "cls" in c.pool else 0)
        if "max" not in c.pool:
            return average
        half = c.steps // 2
        delta = steps[c.steps - half:].mean((0, 1)) - steps[:half].mean((0, 1))
        return torch.cat((average, delta, steps.amax((0, 1))))


def rms(x, weight):
    return functional.rms_norm(x, weight.shape, weight, 1e-5)


def gemms(c, packed):
    """The products of all layers and of the patches, on rows of ones."""
    shapes = [(c.dim, 2 * c.inner), (c.inner, c.dim)]
    shapes += 2 * [(c.inner, c.rank + 2 * c.state), (c.rank, c.inner)]
    work = [(c.tokens - 1, 3 * c.tubelet * c.patch * c.patch, c.dim)]
    work += [(c.tokens, *shape) for _ in range(c.depth) for shape in shapes]
    rows = {(count, inner): torch.ones(count, inner) for count, inner, _ in work}
    weights = [torch.full((columns, inner), 1e-3) for _, inner, columns in work]
    if packed:
        weights = [torch.ops.mkldnn._reorder_linear_weight(w, None) for w in weights]

    def run():
        for (count, inner, _), weight in zip(work, weights):
            if packed:
                torch.ops.mkldnn._linear_pointwise(rows[count, inner], weight, None, "none", [], "")
            else:
                functional.linear(rows[count, inner], weight)
    return run


def timed(run, runs):
    run()
    wall, cpu = [], []
    for _ in range(runs):
        began, spent = time.perf_counter(), time.process_time()
        out = run()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - spent)
    return {"wall_s": wall, "cpu_s": cpu}, out


def on_gpu(c, batches, runs):
    """Seconds a batch on a GPU, eager and as one CUDA graph."""
    torch.set_default_device("cuda")
    speeds = []
    with torch.autocast("cuda", dtype=torch.bfloat16):
        model = Model(c)
        for batch in batches:
            shape = (batch, c.frames, c.size, c.size, 3)
            pictures = torch.randint(0, 256, shape, dtype=torch.uint8)
            run = lambda pictures=pictures: model.forward(pictures)
            eager = on_clock(run, runs)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run()
            speeds.append({"batch": batch, "eager_s": eager, "graph_s": on_clock(graph.replay, runs)})
    return speeds


def on_clock(run, runs):
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("gemms", "eager"))
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--frames", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--batch", type=int, action="append", help="of clips; --device cuda alone")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    c = Config(args.model, args.frames)
    result = {"version": torch.__version__, "capability": torch.backends.cpu.get_cpu_capability()}
    with torch.inference_mode():
        if args.device == "cuda":
            result["speed"] = on_gpu(c, args.batch or [1], args.runs)
        elif args.what == "gemms":
            result["gemms"], _ = timed(gemms(c, False), args.runs)
            result["gemms_packed"], _ = timed(gemms(c, True), args.runs)
        else:
            count = c.frames * c.size * c.size * 3
            values = (mixed("pictures", count) >> numpy.uint64(56)).astype(numpy.uint8)
            pictures = torch.from_numpy(values.reshape(c.frames, c.size, c.size, 3))
            model = Model(c)
            run = lambda: model.forward(pictures[None])[0]
            result["eager"], logits = timed(run, args.runs)
            torch.set_num_threads(1)  # which wait for nobody
            result["eager_alone"], _ = timed(run, args.runs)
            result["logits"] = logits.tolist()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
