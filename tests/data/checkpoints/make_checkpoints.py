#!/usr/bin/env python3
"""Writes the checkpoints of this folder with the real PyTorch: every shape of file that official
and common training code leaves behind, and pickles that try to run something.

Usage: make_checkpoints.py [FOLDER]. Made with torch 2.11.0, numpy 2.4, safetensors 0.8 on CPython
3.11; other versions may differ in bytes. Weights are the deterministic generator's
(tests/data/reference/README.md) for the seed below, so that a test can make them again.
"""

import argparse
import collections
import os
import pathlib
import pickle
import sys

import numpy
import safetensors.torch
import torch

SEED = 0x5348415245440001
SIZES = dict(dim=8, depth=2, state=4, conv=4, rank=1, patch=4, tubelet=1, frames=2, grid=2, classes=3)


def uniform(name, count):
    mask = (1 << 64) - 1
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 & mask
    z = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z += numpy.uint64(h ^ SEED)
    z = (z ^ z >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    z ^= z >> numpy.uint64(31)
    return (z >> numpy.uint64(40)).astype(numpy.float64) * 2.0 ** -24


def generate(name, shape):
    count = int(numpy.prod(shape))
    fan_in = float(numpy.prod(shape[1:])) if len(shape) > 1 else 1.0
    offset, scale = 0.0, (3 / fan_in) ** 0.5
    if name.endswith(("A_log", "A_b_log")):
        offset, scale = numpy.log(numpy.arange(count) % shape[1] + 1.0), 0.1
    elif name.endswith((".D", ".D_b")):
        offset, scale = 1.0, 0.1
    elif "dt_proj" in name:
        offset, scale = (-4.0, 2.0) if name.endswith(".bias") else (0.0, shape[1] ** -0.5)
    elif "conv1d" in name:
        scale = 0.1 if name.endswith(".bias") else 0.5
    elif name in ("cls_token", "pos_embed", "temporal_pos_embedding"):
        scale = 0.2
    elif name.endswith(".bias"):
        scale = 0.1
    elif len(shape) == 1:
        offset, scale = 1.0, 0.1
    elif "embeddings" in name:
        scale = 0.2
    elif name.endswith("out_proj.weight"):
        scale *= 0.5
    values = offset + scale * (2 * uniform(name, count) - 1)
    return torch.from_numpy(values.astype(numpy.float32)).reshape(shape)


def shapes(norm="norm_f", shared=False, layer_norm=False, head=True, image=False, **changes):
    s = SIZES | changes
    dim, inner, rank, state = s["dim"], 2 * s["dim"], s["rank"], s["state"]
    patch = (dim, 3) + (() if image else (s["tubelet"],)) + (s["patch"], s["patch"])
    found = {"cls_token": (1, 1, dim), "pos_embed": (1, s["grid"] ** 2 + 1, dim)}
    if not image:
        found["temporal_pos_embedding"] = (1, s["frames"] // s["tubelet"], dim)
    found |= {"patch_embed.proj.weight": patch, "patch_embed.proj.bias": (dim,)}
    if head:
        found |= {"head.weight": (s["classes"], dim), "head.bias": (s["classes"],)}
    norms = ["weight", "bias"] if layer_norm else ["weight"]
    for i in range(s["depth"]):
        mixer = f"layers.{i}.mixer."
        found[mixer + "in_proj.weight"] = (2 * inner, dim)
        found[mixer + "A_log"] = found[mixer + "A_b_log"] = (inner, state)
        for b in [""] if shared else ["", "_b"]:
            found |= {f"{mixer}D{b}": (inner,), f"{mixer}conv1d{b}.weight": (inner, 1, s["conv"]),
                      f"{mixer}conv1d{b}.bias": (inner,),
                      f"{mixer}x_proj{b}.weight": (rank + 2 * state, inner),
                      f"{mixer}dt_proj{b}.weight": (inner, rank), f"{mixer}dt_proj{b}.bias": (inner,)}
        found[mixer + "out_proj.weight"] = (dim, inner)
        found |= {f"layers.{i}.norm.{n}": (dim,) for n in norms}
    return found | {f"{norm}.{n}": (dim,) for n in norms}


def state(dtype=torch.float32, prefix="", **changes):
    """As state_dict() gives it: an OrderedDict that carries _metadata. norm.* has norm_f's values."""
    tensors = collections.OrderedDict()
    for name, shape in shapes(**changes).items():
        values = generate(name.replace("norm.", "norm_f.") if name.startswith("norm.") else name, shape)
        tensors[prefix + name] = values.to(dtype)
    tensors._metadata = collections.OrderedDict({"": {"version": 1}})
    return tensors


TEXT = dict(words=7, dim=8, heads=2, wide=12, positions=40, depth=1, fusion=1, joint=4)


def bert_shapes():
    """The text side of video_mm: BERT whose last layers also read the video, and what joins them."""
    t, vision = TEXT, SIZES["dim"]
    dim, bert = t["dim"], "text_encoder.bert."

    def linear(name, rows, columns):
        return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}

    def norm(name):
        return {f"{name}.weight": (dim,), f"{name}.bias": (dim,)}

    def attention(name, source):
        return (linear(f"{name}.self.query", dim, dim) | linear(f"{name}.self.key", dim, source)
                | linear(f"{name}.self.value", dim, source)
                | linear(f"{name}.output.dense", dim, dim) | norm(f"{name}.output.LayerNorm"))

    found = {f"{bert}embeddings.word_embeddings.weight": (t["words"], dim),
             f"{bert}embeddings.position_embeddings.weight": (t["positions"], dim),
             f"{bert}embeddings.token_type_embeddings.weight": (2, dim)}
    found |= norm(f"{bert}embeddings.LayerNorm")
    for i in range(t["depth"] + t["fusion"]):
        layer = f"{bert}encoder.layer.{i}."
        found |= attention(f"{layer}attention", dim)
        if i >= t["depth"]:
            found |= attention(f"{layer}crossattention", vision)
        found |= linear(f"{layer}intermediate.dense", t["wide"], dim)
        found |= linear(f"{layer}output.dense", dim, t["wide"]) | norm(f"{layer}output.LayerNorm")
    return found | linear("vision_proj", t["joint"], vision) | linear("text_proj", t["joint"], dim) \
        | linear("itm_head", 2, dim) | {"pool_norm.weight": (vision,), "pool_norm.bias": (vision,)}


def multimodal(dtype=torch.float32):
    """As the official code saves it, with its heads of pre-training and its teacher."""
    tensors = state(dtype, prefix="vision_encoder.", norm="norm", head=False)
    for name, shape in bert_shapes().items():
        prefix = "vision_encoder." if name.startswith("pool_norm") else ""
        tensors[prefix + name] = generate(name.replace("bert.", ""), shape).to(dtype)
    ones = lambda *shape: torch.ones(*shape, dtype=dtype)
    predictions = "text_encoder.cls.predictions."
    tensors |= {"temp": torch.tensor(0.07, dtype=dtype),
                "vision_encoder.clip_decoder.0.head.weight": ones(4, 8),
                "vision_encoder.clip_decoder.0.norm.weight": ones(4),
                "text_encoder.bert.embeddings.position_ids": torch.arange(TEXT["positions"])[None],
                predictions + "bias": ones(7), predictions + "decoder.weight": ones(7, 8),
                predictions + "transform.dense.weight": ones(8, 8),
                "clip_teacher.proj": ones(8, 4), "clip_teacher.conv1.weight": ones(8, 3, 1, 4, 4)}
    return tensors


def training(tensors):
    """A checkpoint of the official training code: optimizer, arguments and NumPy scalars beside."""
    weights = [torch.nn.Parameter(t.clone()) for t in tensors.values()]
    optimizer = torch.optim.AdamW(weights, lr=1e-3)
    sum(w.sum() for w in weights).backward()
    optimizer.step()
    arguments = argparse.Namespace(model="videomamba_tiny", lr=numpy.float64(2e-4), epochs=70,
                                   betas=(0.9, 0.999), output_dir=pathlib.PurePosixPath("out"))
    return {"model": tensors, "optimizer": optimizer.state_dict(), "epoch": numpy.int64(69),
            "scaler": {"scale": 65536.0, "growth_factor": 2.0, "_growth_tracker": 0},
            "args": arguments, "best": numpy.float32(0.779), "seen": {1, 2}, "huge": 1 << 100}


def flat(tensors):
    """Every tensor a view of one storage; matrices transposed in it."""
    buffer = torch.cat([t.t().reshape(-1) if t.dim() == 2 else t.reshape(-1)
                        for t in tensors.values()])
    views, at = collections.OrderedDict(), 0
    for name, t in tensors.items():
        part = buffer[at:at + t.numel()]
        views[name] = part.view(t.shape[::-1]).t() if t.dim() == 2 else part.view(t.shape)
        at += t.numel()
    return views


def without(tensors, *ends):
    return collections.OrderedDict((k, v) for k, v in tensors.items() if not k.endswith(ends))


class RunsACommand:
    def __reduce__(self):
        return os.system, ("touch scanline-ran-a-pickle",)


class RunsCode:
    def __reduce__(self):
        return eval, ("open('scanline-ran-a-pickle', 'w')",)


class Weights(torch.Tensor):
    pass


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def variants():
    yield "ordered_dict", state()
    yield "plain_dict", dict(state())
    yield "training", training(state())
    yield "module_wrapper", {"module": state(), "global_steps": 10, "dp_world_size": 8}
    yield "state_dict_wrapper_ddp", {"state_dict": state(prefix="module."), "epoch": 3}
    yield "nested_wrapper", {"state_dict": {"model": state()}, "config": {"model": {"depth": 2}}}
    yield "backbone_prefix", state(prefix="backbone.", head=False) | {
        k: v for k, v in state().items() if k.startswith("head.")}
    yield "encoder_prefix", {"model": state(prefix="encoder.")}
    yield "compiled", state(prefix="_orig_mod.module.")
    yield "bf16", {"module": state(torch.bfloat16)}
    yield "fp16", state(torch.float16)
    yield "fp64", state(torch.float64)
    yield "parameters", collections.OrderedDict(
        (k, torch.nn.Parameter(v)) for k, v in state().items())
    yield "subclass", collections.OrderedDict((k, v.as_subclass(Weights)) for k, v in state().items())
    yield "views", flat(state())
    yield "head710", {"model": state(classes=710, depth=1)}
    yield "norm", {"model": state(norm="norm")}
    yield "layernorm", state(layer_norm=True)
    yield "tubelet2", state(tubelet=2, frames=4)
    yield "image", {"model": state(image=True)}
    yield "image_distilled", {"model": state(image=True) | {
        "distill_head.0.weight": torch.ones(8), "distill_head.1.weight": torch.ones(4, 8),
        "distill_head.1.bias": torch.zeros(4)}}
    yield "pro_v1", {"model": state(shared=True)}
    yield "masked_student", {"model": state(norm="norm", head=False) | {
        "clip_decoder.0.head.weight": torch.ones(4, 8), "clip_decoder.0.head.bias": torch.zeros(4),
        "clip_decoder.0.norm.weight": torch.ones(4), "clip_decoder.0.norm.bias": torch.zeros(4)}}
    yield "masked_finetuned", {"model": state() | {
        "clip_decoder.0.head.weight": torch.ones(4, 8), "clip_teacher.proj": torch.ones(8, 4)}}
    yield "multimodal", {"model": multimodal(), "optimizer": {"state": {0: torch.ones(3)}},
                         "scheduler": {"last_epoch": 9}, "config": {"model": {}}, "epoch": 9}
    yield "multimodal_bf16", {"module": multimodal(torch.bfloat16)}
    yield "multimodal_no_mlm", {"model": {
        k.replace("bert.", ""): v for k, v in multimodal().items() if ".cls." not in k}}
    yield "missing", without(state(), "out_proj.weight", "norm_f.weight")
    yield "unexpected", state() | {"fc_norm.weight": torch.ones(8), "layers.0.gamma": torch.ones(8),
                                   "layers.1.gamma": torch.ones(8), "steps": torch.tensor(7)}
    yield "misshaped", state() | {"layers.1.mixer.out_proj.weight": torch.ones(8, 15),
                                  "norm_f.weight": torch.ones(9)}
    yield "integer_weight", state() | {"norm_f.weight": torch.ones(8, dtype=torch.int64)}
    yield "not_finite", state() | {"norm_f.weight": torch.full((8,), float("nan"))}
    yield "not_square", state() | {"pos_embed": torch.ones(1, 7, 8)}
    yield "no_tensors", {"model": {"depth": 2}, "epoch": 1}
    yield "whole_module", torch.nn.Linear(2, 2)
    yield "evil_system", {"model": state(), "optimizer": RunsACommand()}
    yield "evil_eval", {"model": state() | {"norm_f.weight": RunsCode()}}
    yield "evil_root", RunsACommand()
    yield "deep_nesting", {"model": state(depth=1), "deep": nested(300)}


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in variants():
        torch.save(content, folder / f"{name}.pth")
    for protocol in (3, 4, 5):
        torch.save(training(state(depth=1)), folder / f"protocol{protocol}.pth", pickle_protocol=protocol)
    torch.save({"model": state(depth=1)}, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), folder / "torchscript.pth")
    (folder / "bare_pickle.pth").write_bytes(pickle.dumps({"model": 1}, protocol=2))
    safetensors.torch.save_file(dict(state()), folder / "fp32.safetensors")
    safetensors.torch.save_file(dict(state(torch.bfloat16, prefix="backbone.")),
                                folder / "bf16.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
