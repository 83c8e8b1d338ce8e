#!/usr/bin/env python3
"""The task of scanline-decode-bench done by other decoders, as users of them do it.

Usage: decode_peers.py PEER CLIP [--frames 16] [--size 224] [--runs 3]
Prints one JSON line: the version, CPU seconds of each run, and the numbers drawn in the frames.
One run: open the clip, take the frames at the middles of equal segments as RGB on one thread,
resize the short side to SIZE with OpenCV's INTER_LINEAR, crop the middle, close.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def middles(total, count):
    return [min(total - 1, int((k + 0.5) * total / count)) for k in range(count)]


def torchcodec(clip, count, seek_mode):
    decoders = importlib.import_module("torchcodec.decoders")
    decoder = decoders.VideoDecoder(
        clip, dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode=seek_mode)
    return decoder.get_frames_at(indices=middles(len(decoder), count)).data.numpy()


def pyav(clip, count):
    av = importlib.import_module("av")
    with av.open(clip) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        wanted = middles(stream.frames, count)
        frames = []
        for index, frame in enumerate(container.decode(stream)):
            if index == wanted[len(frames)]:
                frames.append(frame.to_ndarray(format="rgb24"))
                if len(frames) == count:
                    break
        return frames


def opencv(clip, count):
    cv2 = importlib.import_module("cv2")
    capture = cv2.VideoCapture(clip, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    wanted = middles(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), count)
    frames, index = [], 0
    while len(frames) < count and capture.grab():
        if index == wanted[len(frames)]:
            frames.append(cv2.cvtColor(capture.retrieve()[1], cv2.COLOR_BGR2RGB))
        index += 1
    capture.release()
    return frames


def decord(clip, count):
    reader = importlib.import_module("decord").VideoReader(clip, num_threads=1)
    return reader.get_batch(middles(len(reader), count)).asnumpy()


# By name: the package, and the function of a clip's path and the number of frames.
PEERS = {
    "torchcodec": ("torchcodec", lambda clip, n: torchcodec(clip, n, "exact")),
    "torchcodec approximate": ("torchcodec", lambda clip, n: torchcodec(clip, n, "approximate")),
    "pyav": ("av", pyav),
    "opencv": ("opencv-python-headless", opencv),
    "decord": ("decord", decord),
}


def pictures(frames, size):
    cv2 = importlib.import_module("cv2")
    done = []
    for frame in frames:
        height, width = frame.shape[:2]
        scale = size / min(height, width)
        shape = (max(size, int(width * scale)), max(size, int(height * scale)))
        resized = cv2.resize(frame, shape, interpolation=cv2.INTER_LINEAR)
        top, left = (shape[1] - size) // 2, (shape[0] - size) // 2
        done.append(resized[top:top + size, left:left + size])
    return done


def pattern_reader():
    path = ROOT / "tests/data/clips/read_pattern.py"
    spec = importlib.util.spec_from_file_location("read_pattern", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.read


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("clip")
    parser.add_argument("--frames", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    package, take = PEERS[args.peer]
    importlib.import_module("cv2").setNumThreads(1)
    if package == "torchcodec":
        importlib.import_module("torch").set_num_threads(1)
    seconds = []
    pictures(take(args.clip, args.frames), args.size)  # Loads and imports are nobody's cost.
    for _ in range(args.runs):
        start = time.process_time()
        seen = pictures(take(args.clip, args.frames), args.size)
        seconds.append(time.process_time() - start)
    read = pattern_reader()
    found = [read(picture, crop_of=args.size) for picture in seen]
    print(json.dumps({
        "version": importlib.metadata.version(package),
        "cpu_s": seconds,
        "numbers": [one["number"] if one["ok"] else -1 for one in found],
    }))


if __name__ == "__main__":
    main()
