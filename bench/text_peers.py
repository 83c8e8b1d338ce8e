#!/usr/bin/env python3
"""The task of scanline-text-bench done by PyTorch, with the same weights and the same token ids.

Usage: text_peers.py IDS [--depth 9] [--threads 2] [--batch 1 16] [--runs 5]
IDS: the token ids of each text, as JSON.
Prints one JSON line: seconds for all texts by each peer and batch, each batch's best run, and
the embeddings. Tokenising is not counted (scanline's is).
  padded_32       eager, as the official evaluation does: every text padded to 32, with a mask
  padded_longest  eager, padded to the longest of the batch
  sdpa_longest    the same with scaled_dot_product_attention
  gemms_alone     at::linear of each layer's shapes on the rows of the texts, nothing else
  gemms_packed    the same by oneDNN with weights laid out for it beforehand
"""

import argparse
import json
import math
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

VOCAB = 30522
DIM, WIDE, HEADS, JOINT, POSITIONS, MAX_LENGTH, SEED = 768, 3072, 12, 512, 512, 32, 1


def generate(name, shape):
    """The generator of tests/data/reference/README.md."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    count = math.prod(shape)
    z = (numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
         + numpy.uint64(value ^ SEED))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> numpy.uint64(shift))) * numpy.uint64(factor)
    z ^= z >> numpy.uint64(31)
    u = (z >> numpy.uint64(40)).astype(numpy.float64) * 2.0**-24
    if name.endswith(".bias"):
        offset, scale = 0, 0.1
    elif len(shape) == 1:
        offset, scale = 1, 0.1
    elif "embeddings" in name:
        offset, scale = 0, 0.2
    else:
        offset, scale = 0, math.sqrt(3 / shape[1])
    return torch.from_numpy((offset + scale * (2 * u - 1)).astype(numpy.float32).reshape(shape))


def fill(module, name):
    for part, parameter in module.named_parameters():
        parameter.data = generate(f"{name}.{part}", tuple(parameter.shape))
    return module


class Layer(nn.Module):
    def __init__(self, name):
        super().__init__()
        linear = lambda part, rows, columns: fill(nn.Linear(columns, rows), name + part)
        norm = lambda part: fill(nn.LayerNorm(DIM, eps=1e-12), name + part)
        self.query = linear("attention.self.query", DIM, DIM)
        self.key = linear("attention.self.key", DIM, DIM)
        self.value = linear("attention.self.value", DIM, DIM)
        self.attention_out = linear("attention.output.dense", DIM, DIM)
        self.attention_norm = norm("attention.output.LayerNorm")
        self.up = linear("intermediate.dense", WIDE, DIM)
        self.down = linear("output.dense", DIM, WIDE)
        self.norm = norm("output.LayerNorm")

    def forward(self, x, mask, sdpa):
        batch, length, _ = x.shape
        heads = lambda y: y.view(batch, length, HEADS, DIM // HEADS).transpose(1, 2)
        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        if sdpa:
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)
            mixed = functional.softmax(scores if mask is None else scores + mask, dim=-1) @ v
        mixed = mixed.transpose(1, 2).reshape(batch, length, DIM)
        x = self.attention_norm(self.attention_out(mixed) + x)
        return self.norm(self.down(functional.gelu(self.up(x))) + x)


class Tower(nn.Module):
    def __init__(self, depth):
        super().__init__()
        name = "text_encoder.embeddings."
        self.words = fill(nn.Embedding(VOCAB, DIM), name + "word_embeddings")
        self.positions = fill(nn.Embedding(POSITIONS, DIM), name + "position_embeddings")
        self.types = fill(nn.Embedding(2, DIM), name + "token_type_embeddings")
        self.norm = fill(nn.LayerNorm(DIM, eps=1e-12), name + "LayerNorm")
        self.layers = nn.ModuleList(
            Layer(f"text_encoder.encoder.layer.{i}.") for i in range(depth))
        self.text_proj = fill(nn.Linear(DIM, JOINT), "text_proj")

    def forward(self, ids, keep, sdpa=False):
        x = self.words(ids) + self.types(torch.zeros_like(ids))
        x = self.norm(x + self.positions(torch.arange(ids.shape[1])))
        mask = None if bool(keep.all()) else (1 - keep[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, mask, sdpa)
        return functional.normalize(self.text_proj(x[:, 0]), dim=-1)


def padded(ids, length):
    rows = torch.zeros(len(ids), length, dtype=torch.int64)
    keep = torch.zeros(len(ids), length, dtype=torch.int64)
    for row, text in enumerate(ids):
        rows[row, :len(text)] = torch.tensor(text)
        keep[row, :len(text)] = 1
    return rows, keep


def gemms(tower, ids, packed):
    rows = sum(len(text) for text in ids)
    narrow, wide = torch.ones(rows, DIM), torch.ones(rows, WIDE)
    work = []
    for layer in tower.layers:
        linears = (layer.query, layer.key, layer.value, layer.attention_out, layer.up, layer.down)
        for linear in linears:
            x = wide if linear is layer.down else narrow
            work.append((x, packed[linear] if packed else linear.weight, linear.bias))

    def run():
        for x, weight, bias in work:
            if packed:
                torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
            else:
                functional.linear(x, weight, bias)
    return run


def peers(tower, ids, packed):
    longest = max(len(text) for text in ids)
    official, short = padded(ids, MAX_LENGTH), padded(ids, longest)
    yield "padded_32", lambda: tower(*official)
    yield "padded_longest", lambda: tower(*short)
    yield "sdpa_longest", lambda: tower(*short, sdpa=True)
    yield "gemms_alone", gemms(tower, ids, None)
    yield "gemms_packed", gemms(tower, ids, packed)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", type=json.loads)
    parser.add_argument("--depth", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ids = args.ids
    tower = Tower(args.depth).eval()
    result = {"version": torch.__version__, "seconds": {}, "embeddings": {}}
    with torch.inference_mode():
        packed = {module: torch.ops.mkldnn._reorder_linear_weight(module.weight, None)
                  for module in tower.layers.modules() if isinstance(module, nn.Linear)}
        for batch in args.batch:
            for begin in range(0, len(ids), batch):
                for name, run in peers(tower, ids[begin:begin + batch], packed):
                    best = math.inf
                    for _ in range(args.runs):
                        start = time.perf_counter()
                        out = run()
                        best = min(best, time.perf_counter() - start)
                    seconds = result["seconds"].setdefault(name, {})
                    seconds[str(batch)] = seconds.get(str(batch), 0) + best
                    if out is not None and batch == args.batch[-1]:
                        result["embeddings"].setdefault(name, []).extend(out.tolist())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
