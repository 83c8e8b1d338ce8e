"""Draws where the time of a forward pass goes, from what bench/engine.py measured.

A bar is a clip by all threads; the black line in it is the bound: the matrix products and the scans
at the machine's peak of multiply-adds, nothing else.
"""

PARTS = {"products": ("#2f6f9f", "matrix products"), "scan": ("#e08a3c", "scan"),
         "conv": ("#7aa974", "convolution"), "other": ("#a58bb5", "gate, norms"),
         "waiting": ("#c9c9c9", "waiting")}
WIDTH, LEFT, RIGHT, ROW, BAR, TOP = 860, 226, 110, 40, 24, 64


def parts_ms(variant):
    """What each part takes of the wall's milliseconds; together they are the latency."""
    total, shares = variant["latency_ms"]["best"], variant["shares"]
    busy = total * (1 - shares["waiting"])
    return {part: total * shares[part] if part == "waiting" else busy * shares[part]
            for part in PARTS}


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def bar(x, y, width, colour):
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'


def rows(result, scale):
    """(label, value, drawn bars) of each row, from top to bottom."""
    for name, variant in result["variants"].items():
        x, bars = LEFT, []
        for part, ms in parts_ms(variant).items():
            bars.append((x, ms * scale, PARTS[part][0]))
            x += ms * scale
        path, precision = name.split()
        yield f"{path}, {precision}", f"{variant['latency_ms']['best']:.0f} ms", bars, \
            LEFT + variant["bounds_ms"]["multiply_adds"] * scale
    peers = result["peers"]
    for key, label in (("gemms_packed AVX512", "products alone, oneDNN"),
                       ("gemms AVX512", "products alone, PyTorch"),
                       ("gemms AVX2", "the same held to AVX2")):
        if key in peers:
            ms = peers[key]["wall_ms"]["best"]
            yield label, f"{ms:.0f} ms", [(LEFT, ms * scale, "#8d8d8d")], None
    eager = min(peers[key]["wall_ms"]["best"] for key in ("eager", "eager_alone"))
    end = WIDTH - RIGHT - LEFT
    cuts = [(LEFT + end * (0.9 + 0.02 * i), end * 0.01, "#8d8d8d") for i in range(5)]  # on and on
    yield "PyTorch eager", f"{eager:,.0f} ms", [(LEFT, end * 0.89, "#8d8d8d"), *cuts], None


def drawn(result):
    longest = max([v["latency_ms"]["best"] for v in result["variants"].values()] +
                  [p["wall_ms"]["best"] for key, p in result["peers"].items()
                   if key.startswith("gemms ")])
    scale = (WIDTH - LEFT - RIGHT) / (1.15 * longest)
    lines = list(rows(result, scale))
    height = TOP + ROW * len(lines) + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif" font-size="14">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(12, 24, f"VideoMamba-{result['model'].capitalize()}, {result['frames']} frames, "
                f"{result['threads']} threads: milliseconds a clip", 'font-weight="bold"')]
    x = LEFT
    for colour, label in PARTS.values():
        out += [f'<rect x="{x}" y="38" width="11" height="11" fill="{colour}"/>',
                text(x + 16, 48, label, 'font-size="12"')]
        x += 34 + 6.6 * len(label)
    out += [f'<path d="M{x + 3} 36 v15" stroke="#000" stroke-width="2"/>',
            text(x + 10, 48, "bound (at peak)", 'font-size="12"')]
    for i, (label, value, bars, bound) in enumerate(lines):
        y = TOP + ROW * i
        out.append(text(LEFT - 10, y + 17, label, 'text-anchor="end"'))
        out += [bar(at, y, width, colour) for at, width, colour in bars]
        if bound:
            out.append(f'<path d="M{bound:.1f} {y - 4} v{BAR + 8}" stroke="#000" '
                       'stroke-width="2"/>')
        out.append(text(bars[-1][0] + bars[-1][1] + 8, y + 17, value))
    return "\n".join(out + ["</svg>"]) + "\n"

