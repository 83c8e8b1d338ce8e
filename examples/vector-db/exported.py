"""What the loaders share: the moments that `scanline export INDEX --to jsonl` wrote."""

import json
import shlex


def moments(path, many=256):
    """Yields lists of up to `many` moments, each a dict with id, path, start_s, end_s, sha256 and
    vector (a list of floats). The file is read as it goes: it may be larger than the memory."""
    batch = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            batch.append(json.loads(line))
            if len(batch) == many:
                yield batch
                batch = []
    if batch:
        yield batch


def first(path):
    """The first moment, which tells the dimension; None where the index is empty."""
    for batch in moments(path, many=1):
        return batch[0]
    return None


def text_vector(path):
    """The vector that `scanline embed --text "..." --format ndjson` printed into a file."""
    with open(path, encoding="utf-8") as lines:
        return json.loads(lines.readline())["result"]["embeddings"][0]["values"]


def show(hits):
    """Prints (similarity, path, start, end) of each hit, and how to open the moment."""
    for similarity, path, start, end in hits:
        command = f"mpv --start={start:.2f} {shlex.quote(path)}"
        print(f"{similarity:.4f}\t{path}\t{start:.2f}-{end:.2f} s\t{command}")
