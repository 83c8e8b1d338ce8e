#!/usr/bin/env python3
"""Makes unicode.json: what Hugging Face's tokenizer does with every assigned plane, in short.

Usage: make_unicode.py OURS (needs tokenizers 0.23.3). OURS: a file with one line a code point, from
0 to 10FFFF without the surrogates: the ids of the code point alone, then of a + it + b, as
"1 2 3 | 4 5 6 ". Code points where the two differ are listed; the rest of each block of 4,096 is
kept as the FNV-1a 64 of its lines.
"""

import json
import pathlib
import sys

from tokenizers import BertWordPieceTokenizer

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = 0x1000
BLOCKS = [*range(0, 0x30), 0xE0]  # The rest is unassigned or private.


def line(ids):
    return " | ".join(" ".join(map(str, part)) for part in ids) + " "


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def ranges(codes):
    found = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main():
    tokenizer = BertWordPieceTokenizer(str(HERE / "vocab.txt"), lowercase=True)
    ours = open(sys.argv[1], encoding="ascii").read().split("\n")
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    differing, lines = [], {}
    for begin in range(0, len(codes), 20000):
        part = codes[begin:begin + 20000]
        alone = tokenizer.encode_batch([chr(code) for code in part])
        within = tokenizer.encode_batch([f"a{chr(code)}b" for code in part])
        for i, code in enumerate(part):
            text = line([alone[i].ids, within[i].ids])
            if text == ours[begin + i]:
                lines[code] = text
            else:
                differing.append(code)
    blocks = {}
    for block in BLOCKS:
        text = "".join(lines.get(code, "") for code in range(block * BLOCK, (block + 1) * BLOCK))
        blocks[f"{block * BLOCK:04X}"] = f"{fnv1a(text):016x}"
    result = {"tokenizer": "tokenizers 0.23.3, BertWordPieceTokenizer(lowercase)",
              "differing_count": len(differing), "differing": ranges(differing), "blocks": blocks}
    text = json.dumps(result).replace('"differing"', '\n"differing"').replace('"blocks"', '\n"blocks"')
    (HERE / "unicode.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
