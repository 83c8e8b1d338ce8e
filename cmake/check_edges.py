#!/usr/bin/env python3
"""Checks every #include against the edges that docs/design.md allows between folders and libraries.

Usage: check_edges.py [ROOT]. Prints a line for each forbidden include and the rule that it
breaks, and exits with 1 if there is any.
"""

import dataclasses
import pathlib
import re
import sys

FOLDERS = ("base", "decode", "model", "proto", "server", "client", "bench", "tests")
ENDINGS = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Libraries that have one seam each. What matches none of these may be used where it is needed.
LIBRARIES = {
    "libav": re.compile(r"lib(av\w*|sw\w*|postproc)/"),
    "Torch": re.compile(r"(torch|ATen|c10|caffe2)/"),
    "gRPC or protobuf": re.compile(r"(grpc\w*|grpc\+\+|google/(protobuf|rpc))/|.*\.pb\.h$"),
    "Prometheus": re.compile(r"prometheus/"),
    "civetweb": re.compile(r"(civetweb|CivetServer)\.h$"),
    "CUDA": re.compile(r"(cuda\w*|cub/.*|nv\w+)(\.h|\.hpp|\.cuh)$"),
    "Abseil": re.compile(r"absl/"),
    "OpenSSL": re.compile(r"openssl/"),
    "spdlog": re.compile(r"(spdlog|fmt)/"),
}
SEAMS = frozenset(LIBRARIES) - {"Abseil", "OpenSSL", "spdlog"}


@dataclasses.dataclass(frozen=True)
class Rule:
    """What the files below one path may include: project folders, and libraries with a seam.

    Everything without a seam is allowed too, unless `only` says that nothing else is.
    """
    folders: tuple = ()
    libraries: frozenset = frozenset()
    only: bool = False


def rule(*folders, libraries=(), only=False):
    return Rule(folders, frozenset(libraries), only)


GRPC = "gRPC or protobuf"
# The longest key that a file's path starts with decides. The rows follow docs/design.md, "Allowed
# edges", and docs/contracts.md, "Programs and edges".
RULES = {
    "base/": rule("base", libraries=["Abseil", "OpenSSL", "spdlog"], only=True),
    "decode/": rule("decode", "base", libraries=["libav"]),
    "model/": rule("model", "base", libraries=["Torch"]),
    # The formats of a bundle's files: free of Torch, shared by the loader and the importer.
    **{f"model/{name}": rule("model/config.h", "model/safetensors.h", "model/strict_json.h",
                             "model/tensor_spec.h", "model/text_list.h", "base")
       for name in ("config", "safetensors", "strict_json", "tensor_spec", "text_list")},
    "model/checkpoint/": rule("model/checkpoint", "model/config.h", "model/safetensors.h",
                              "model/tensor_spec.h", "model/text_list.h", "base"),
    # What is known of people's boxes without a picture or a network.
    **{f"model/person/{name}": rule("model/person/anchors.h", "model/person/association.h",
                                    "model/person/nms.h", "model/person/parts.h",
                                    "model/person/person_box.h", "model/person/rgb_picture.h",
                                    "model/person/tracks.h", "base")
       for name in ("anchors", "association", "nms", "parts", "person_box", "rgb_picture",
                    "tracks")},
    # Kernels of a GPU and what runs them on a CPU; nvcc brings the CUDA headers.
    **{f"model/cuda/{name}": rule("model/cuda", only=True)
       for name in ("add_norm", "device", "gate", "launch", "project", "scan", "simt", "tokens")},
    "model/cuda/": rule("model", "base", libraries=["CUDA"]),
    "model/kernels/": rule("model/kernels", only=True),
    "proto/": rule("proto", libraries=[GRPC]),
    "server/": rule("server", "proto", "base", "decode", "model", libraries=[GRPC]),
    "server/metrics": rule("server", "base", "decode", "model", libraries=["Prometheus"]),
    "server/ops": rule("server", "base", libraries=["civetweb"]),
    "client/": rule("client", "proto", "base", libraries=[GRPC]),
    "client/cli/": rule("client", "proto", "base", "decode", "model/checkpoint", libraries=[GRPC]),
    "client/render/": rule("client/render", "base", "decode", libraries=["libav"]),
    "client/formats/": rule("client/formats", "base"),
    "bench/engine/gpu_kernels": rule("bench/engine", "base", "model", libraries=["CUDA"]),
    "bench/": rule("bench", "tests/support", "tests/model", "base", "decode", "model", "client", "proto",
                   libraries=["Torch", "libav", GRPC]),
    "tests/support/": rule("tests/support", "base", "decode"),
    "tests/model/person/": rule("tests/model/person", "tests/support", "base", "decode", "model"),
    "tests/fuzz/": rule("tests/fuzz", "tests/support", "base", "decode", "model", "server", "proto",
                        libraries=[GRPC]),
    "tests/e2e/": rule("tests", "client", "server", "proto", "base", "decode", "model",
                       libraries=[GRPC]),
}


def rule_for(path):
    """The rule of a file; a test may include what its subject may, and the tests' own helpers."""
    matches = [prefix for prefix in RULES if path.startswith(prefix)]
    if matches:
        return RULES[max(matches, key=len)]
    subject = rule_for(path.removeprefix("tests/")) if path.startswith("tests/") else None
    if subject is None:
        return None
    part = path.split("/")[1]
    return Rule((*subject.folders, part, f"tests/{part}", "tests/support"), subject.libraries)


def library_of(name):
    return next((lib for lib, pattern in LIBRARIES.items() if pattern.match(name)), None)


def is_inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def complaint(path, quote, name, files):
    """Why `path` may not include `name`, or None."""
    own = rule_for(path)
    if own is None:
        return "no rule in cmake/check_edges.py covers this file"
    is_generated = name.endswith(".pb.h")
    if is_generated or name.split("/")[0] in FOLDERS:
        folder = "proto" if is_generated else name
        if any(is_inside(folder, allowed) for allowed in own.folders):
            return None
        return f"this file may include {', '.join(own.folders)}"
    if quote == '"' and (".." in name or str(pathlib.PurePosixPath(path).parent / name) in files):
        return "write the path from the root of the checkout"
    library = library_of(name)
    if library in own.libraries:
        return None
    if library in SEAMS:
        return f"{library} has its seam elsewhere"
    is_system = quote == "<" and not library and ("/" not in name or name.startswith("sys/"))
    if own.only and not is_system:
        return f"this file may use the standard library, {', '.join(sorted(own.libraries))}"
    return None


def reached_libraries(path, includes, seen):
    """Libraries that a file pulls in itself or through the project's headers."""
    found = set()
    if path in seen:
        return found
    seen.add(path)
    for _, name in includes.get(path, ()):
        library = library_of(name)
        if library:
            found.add(library)
        found |= reached_libraries(name, includes, seen)
    return found


def check(root):
    """Returns (number of files, complaints)."""
    includes = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in ENDINGS:
                text = file.read_text(encoding="utf-8")
                includes[file.relative_to(root).as_posix()] = INCLUDE.findall(text)
    complaints = []
    for path, lines in includes.items():
        for quote, name in lines:
            why = complaint(path, quote, name, includes)
            if why:
                complaints.append(f"{path}: includes {name}: {why}")
        if {"Torch", GRPC} <= reached_libraries(path, includes, set()):
            complaints.append(f"{path}: Torch and protobuf headers meet here, directly or through "
                              "project headers; Torch's old protobuf shadows Debian's")
    return len(includes), complaints


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]
    count, complaints = check(root)
    if count == 0:
        print(f"no source files below {root}; expected {', '.join(FOLDERS)}", file=sys.stderr)
        return 1
    for line in complaints:
        print(line, file=sys.stderr)
    print(f"{count} files, {len(complaints)} forbidden includes")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
