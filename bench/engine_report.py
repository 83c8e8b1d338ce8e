"""What bench/engine.py makes of its measurements: ratios, targets, the table. Pure functions."""

import statistics

TARGETS_OF = {"model": "tiny", "frames": 8, "threads": 2}
FMA_CLASS_OPS = 9  # of the scan's inner loop, for a register of (channel, state) elements
LANES = {"avx2": 8, "avx512": 16, "avx512_bf16": 16}
OFFICIAL = {"tiny": (192, 24), "small": (384, 24), "middle": (576, 32), "base": (768, 24)}
STATES, PATCH_VALUES = 16, 768
ERROR_LIMIT = 1e-3  # of fp32 logits beside PyTorch's, relative to the largest


def summary(values):
    return {"best": min(values), "median": statistics.median(values)}


def ratio(ours, theirs):
    """How many times theirs ours is, of the best runs and as the median over the rounds."""
    return {"best": min(ours) / min(theirs),
            "median": statistics.median(a / b for a, b in zip(ours, theirs))}


def inverse(of):
    return {"best": 1 / of["best"], "median": 1 / of["median"]}


def scaled(one_layer, two_layers, layers):
    """Seconds of all layers from those of models of one layer and of two."""
    return one_layer + (layers - 1) * (two_layers - one_layer)


def rel_max(got, want):
    return max(abs(a - b) for a, b in zip(got, want)) / max(abs(b) for b in want)


def scan_bound_ns(path, peaks):
    """Of an element, where nothing but the multiply-adds of the inner loop took time."""
    lanes = LANES.get(path)
    ns = {8: peaks["fma_ns_256"], 16: peaks["fma_ns_512"]}.get(lanes)
    return FMA_CLASS_OPS * ns / lanes if ns else None


def work(model, tokens):
    """Of a pass of an official size: multiply-adds of the matrix products, state elements of the
    scans, and bytes of activations: of a token and layer, residual in and out, x and z out, x twice
    in, y of both directions out and in, z in."""
    dim, layers = OFFICIAL[model]
    inner, rank = 2 * dim, (dim + 15) // 16
    a_token = 2 * dim * inner + inner * dim + 2 * (inner * (rank + 2 * STATES) + rank * inner)
    products = tokens * layers * a_token + (tokens - 1) * PATCH_VALUES * dim
    return products, tokens * inner * STATES * 2 * layers, 4 * tokens * layers * (2 * dim + 9 * inner)


def bounds_ms(model, tokens, threads, name, peaks):
    """What a pass would take if it were but multiply-adds at their peak; or but its activations, all of
    them from memory and back, at the triad's bandwidth (most stay in caches, so that less is possible)."""
    products, elements, moved = work(model, tokens)
    path, precision = name.split()
    gflops = peaks["gflops_256" if path == "avx2" else "gflops_512"]
    gflops *= 2 if precision == "bf16" else 1
    scan = 1e-6 * elements * scan_bound_ns(path, peaks) / threads
    return {"multiply_adds": 2e-6 * products / gflops + scan, "bandwidth": 1e-6 * moved / peaks["triad_gb_s"]}


def worst_error(errors):
    return {"rel_l2": max(e["rel_l2"] for e in errors),
            "rel_max": max(e["rel_max"] for e in errors),
            "cosine": min(e["cosine"] for e in errors),
            "same_top1": sum(e["same_top1"] for e in errors), "models": len(errors)}


def ratios_of(variant, rounds):
    """The ratios of a variant; `rounds`: what each round measured of it and of its peers."""
    if not rounds or "gemms" not in rounds[0]:
        return {}
    pick = lambda *path: [dig(one, path) for one in rounds]
    gemms = pick("gemms", "gemms", "wall_s")
    result = {
        "gemms_latency": ratio(pick("ours", "latency", "clip_s"), gemms),
        "gemms_throughput": ratio(pick("ours", "throughput", "clip_s"), gemms),
        "gemms_cpu": ratio(pick("ours", "throughput", "cpu_s"), pick("gemms", "gemms", "cpu_s")),
        "packed_gemms_latency": ratio(pick("ours", "latency", "clip_s"),
                                      pick("gemms", "gemms_packed", "wall_s")),
        "packed_gemms_cpu": ratio(pick("ours", "throughput", "cpu_s"),
                                  pick("gemms", "gemms_packed", "cpu_s")),
    }
    if "eager" in rounds[0]:
        # Threads that wait for each other cost time: what takes less counts, one thread or all.
        best = lambda kind: list(map(min, pick("eager", kind), pick("eager_alone", kind)))
        result["eager_cpu"] = inverse(ratio(pick("ours", "throughput", "cpu_s"), best("cpu_s")))
        result["eager_wall"] = inverse(ratio(pick("ours", "latency", "clip_s"), best("wall_s")))
    if variant.get("scalar_cpu_s"):
        cpu = min(pick("ours", "throughput", "cpu_s"))
        result["scalar_cpu"] = {"best": variant["scalar_cpu_s"] / cpu}
    return result


def dig(value, path):
    for key in path:
        value = value[key]
    return min(value) if isinstance(value, list) else value


def row(what, found, limit, at_most=True):
    """A target; `found` None: not measured."""
    met = None if found is None else bool(found <= limit if at_most else found >= limit)
    return {"what": what, "found": found, "limit": limit, "at_most": at_most, "met": met}


def found_in(variants, name, *path):
    value = variants.get(name)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def targets(result):
    """The targets that the setting has; their list is the engine's issue."""
    variants = result["variants"]
    rows = []
    if all(result[key] == value for key, value in TARGETS_OF.items()):
        for name, limit in (("avx512 fp32", 1.6), ("avx512_bf16 bf16", 1.1), ("avx2 fp32", 2.0)):
            for profile in ("latency", "throughput"):
                found = found_in(variants, name, "ratios", f"gemms_{profile}", "best")
                rows.append(row(f"{name}: {profile} / matrix products alone (at::linear fp32)",
                                found, limit))
        for name, limit in (("avx512 fp32", 5), ("avx512_bf16 bf16", 7), ("avx2 fp32", 5)):
            rows.append(row(f"{name}: CPU time of PyTorch eager / ours",
                            found_in(variants, name, "ratios", "eager_cpu", "best"), limit, False))
        for name in ("avx512 fp32", "avx2 fp32"):
            rows.append(row(f"{name}: scan alone / bound of its multiply-adds",
                            found_in(variants, name, "scan", "ratio"), 1.8))
        long = result.get("long") or {}
        rows.append(row("64 frames / 8 frames, time", found_in(long, "ratio", "median"), 8.3))
        rows.append(row("64 frames / 8 frames, CPU time", found_in(long, "cpu_ratio", "median"), 8.3))
        rows.append(row("activations of 64 frames, MB", long.get("activations_mb"), 150))
    for name, peak in (result.get("peak_64_frames_mb") or {}).items():
        rows.append(row(f"{name}, 64 frames: peak memory of the process, MB", peak, 4 * 1024**3 / 1e6))
    for name, variant in variants.items():
        if "steady_growth_mb" in variant:
            rows.append(row(f"{name}: memory after 22 passes - after 2, MB",
                            variant["steady_growth_mb"], 1))
        if "logits_beside_eager" in variant and name.endswith("fp32"):
            rows.append(row(f"{name}: logits beside PyTorch's, largest difference",
                            variant["logits_beside_eager"], ERROR_LIMIT))
    return rows


def missed(rows):
    return [one["what"] for one in rows if one["met"] is False]


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def pair(value):
    """best (median)"""
    if value is None:
        return "-"
    return number(value["best"]) + (f" ({number(value['median'])})" if "median" in value else "")


def table(result):
    """Lines for people."""
    frames = f"{result['frames']} frames, " if result["frames"] else ""
    yield f"{result['model']}, {frames}{result['threads']} threads; the best run (median)"
    yield (f"{'PATH':18}{'LATENCY ms':>15}{'THROUGHPUT ms':>15}{'CLIPS/S':>9}{'CPU ms':>9}"
           f"{'PRODUCTS':>10}{'SCAN':>6}{'CONV':>6}{'OTHER':>7}{'WAITING':>9}{'MEMORY MB':>11}")
    for name, one in result["variants"].items():
        shares = one["shares"]
        yield (f"{name:18}{pair(one['latency_ms']):>15}{pair(one['throughput_ms']):>15}"
               f"{one['clips_per_s']:9.2f}{one['cpu_ms']:9.4g}{shares['products']:10.0%}"
               f"{shares['scan']:6.0%}{shares['conv']:6.0%}{shares['other']:7.0%}{shares['waiting']:9.0%}"
               f"{one['activations_mb']:11.1f}")
    for path in result["lacking"]:
        yield f"{path:18}this machine lacks it"
    if any(one["ratios"] for one in result["variants"].values()):
        yield ""
        yield (f"{'RATIO':18}{'/ GEMMS latency':>17}{'throughput':>14}{'CPU':>14}{'/ packed':>14}"
               f"{'CPU':>14}{'EAGER CPU /':>14}{'wall /':>14}{'SCALAR CPU /':>14}")
        for name, one in result["variants"].items():
            cells = [pair(one["ratios"].get(key)) for key in
                     ("gemms_latency", "gemms_throughput", "gemms_cpu", "packed_gemms_latency",
                      "packed_gemms_cpu", "eager_cpu", "eager_wall", "scalar_cpu")]
            yield f"{name:18}{cells[0]:>17}" + "".join(f"{cell:>14}" for cell in cells[1:])
    yield ""
    peaks = result["peaks"]
    yield (f"machine: {peaks['gflops_256']:.0f} GFLOP/s by 256 bits, {peaks['gflops_512']:.0f} by "
           f"512, triad {peaks['triad_gb_s']:.1f} GB/s; fma {peaks['fma_ns_256']:.3f} and "
           f"{peaks['fma_ns_512']:.3f} ns")
    for name, one in result["variants"].items():
        if one.get("scan"):
            yield (f"{name}: scan alone {one['scan']['ns']:.3f} ns an element, "
                   f"{number(one['scan']['ratio'])} of the bound of its multiply-adds")
        if one.get("times_bound"):
            bound = one["times_bound"]
            yield (f"{name}: {number(bound['multiply_adds'])} times its multiply-adds at their peak, "
                   f"{number(bound['bandwidth'])} times its activations from memory")
        if one.get("errors"):
            e = one["errors"]
            yield (f"{name}: logits beside fp64: rel L2 {e['rel_l2']:.1e}, max {e['rel_max']:.1e}, "
                   f"cosine {e['cosine']:.6f}, top class the same in {e['same_top1']} of "
                   f"{e['models']} models")
    if result["targets"]:
        yield ""
    for one in result["targets"]:
        word = {True: "met", False: "NOT MET", None: "not measured"}[one["met"]]
        yield (f"{word:14}{number(one['found']):>8} {'<=' if one['at_most'] else '>='} "
               f"{number(one['limit']):6}{one['what']}")
