"""scanline-engine-bench: its line of JSON, and what it refuses and with which exit code."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
BENCH = pathlib.Path(os.environ["SCANLINE_BIN_DIR"]) / "scanline-engine-bench"
WRONG, USAGE, NO_GPU = 1, 2, 3


def run(*args):
    return subprocess.run([BENCH, *map(str, args)], capture_output=True, text=True, timeout=60,
                          check=False)


class Line(unittest.TestCase):
    def line(self, *args):
        done = run(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_says_what_ran_and_how_long_each_pass_took(self):
        line = self.line("--layers", 1, "--frames", 2, "--runs", 3, "--threads", 1)
        self.assertEqual([line[key] for key in ("model", "device", "precision", "batch", "threads",
                                                "frames", "layers", "tokens", "embed_dim")],
                         ["tiny", "cpu", "fp32", 1, 1, 2, 1, 1 + 2 * 14 * 14, 192])
        self.assertIn(line["path"], line["paths_here"])
        self.assertEqual(len(line["logits"]), 400)
        for profile in ("latency", "throughput"):
            timing = line[profile]
            self.assertEqual(len(timing["pass_s"]), 3)
            self.assertGreaterEqual(timing["clip_s"], min(timing["pass_s"]))
            self.assertLessEqual(timing["clips_per_s"], 1.000001 / timing["clip_s"])
            self.assertGreater(timing["clips_per_s"], 0)
            self.assertGreater(timing["cpu_s"], 0)
        self.assertEqual(line["latency"]["clip_s"], min(line["latency"]["pass_s"]))
        # Side by side, all of the time counts: the shortest pass says nothing of the others.
        self.assertAlmostEqual(line["throughput"]["clip_s"] * line["throughput"]["clips_per_s"], 1)

    def test_has_only_the_profile_asked_for(self):
        line = self.line("--layers", 1, "--frames", 1, "--runs", 1, "--profile", "throughput", "--batch", 1)
        self.assertIn("throughput", line)
        self.assertNotIn("latency", line)

    def test_has_the_error_of_every_stored_model(self):
        vectors = ROOT / "tests/data/reference"
        line = self.line("--runs", 0, "--check-vectors", vectors)
        self.assertNotIn("latency", line)
        models = {error["model"] for error in line["errors"]}
        self.assertTrue({path.stem for path in vectors.glob("real_*")} < models)
        self.assertIn("model_vm_d32_f4", models)
        for error in line["errors"]:
            self.assertLess(error["rel_l2"], 1e-5, error)
            self.assertTrue(error["same_top1"], error)


class Refusal(unittest.TestCase):
    def refused(self, code, word, *args):
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (args, done.stderr))
        self.assertIn(word, done.stderr)

    def test_of_a_gpu_that_is_not_there_is_exit_code_3_with_the_reason(self):
        self.refused(NO_GPU, "CUDA", "--device", "cuda:99")
        self.refused(NO_GPU, "CUDA", "--device", "cuda:99", "--batch", 2, "--batch", 8, "--kernels", 4,
                     "--precision", "fp32")

    def test_of_a_device_that_cannot_be(self):
        for device in ("gpu", "cuda", "cuda:-1", "cuda:x"):
            self.refused(USAGE, "cpu, auto or cuda:N", "--device", device)

    def test_of_what_the_cpu_does_not_take(self):
        self.refused(USAGE, "--kernels", "--kernels", 8)
        self.refused(USAGE, "--batch 1 or none", "--batch", 2)
        self.refused(USAGE, "--batch 1 or none", "--batch", 1, "--batch", 1)
        self.refused(USAGE, "--peaks", "--runs", 0, "--peaks")
        self.refused(WRONG, "--path", "--path", "sse9")

    def test_of_what_a_gpu_does_not_take_comes_before_looking_for_it(self):
        for option in (["--threads", 2], ["--path", "avx2"], ["--profile", "latency"], ["--peaks"]):
            self.refused(USAGE, f"{option[0]} is of the CPU", "--device", "cuda:99", *option)
        self.refused(USAGE, "--batch", "--device", "cuda:99", "--runs", 0, "--batch", 8)

    def test_of_numbers_out_of_range_names_the_range(self):
        for option, found, wanted in (("--frames", 0, "1 to 10000"), ("--frames", 10 ** 9, "1 to 10000"),
                                      ("--layers", -5, "1 to 1000"), ("--threads", 0, "1 to 1024"),
                                      ("--threads", "many", "1 to 1024"), ("--batch", 0, "1 to 10000"),
                                      ("--kernels", -1, "1 to 10000"), ("--runs", -1, "0 to")):
            done = run(option, found)
            self.assertNotEqual(done.returncode, 0, option)
            self.assertRegex(done.stderr, f"{option[1:]}.* {found} .*{wanted}")

    def test_of_vectors_in_no_folder(self):
        for folder in ("", "no/such/folder", BENCH):
            done = run("--runs", 0, "--check-vectors", folder)
            self.assertNotEqual(done.returncode, 0, folder)
            self.assertIn("--check-vectors", done.stderr)

    def test_of_models_and_vectors_that_are_not_there(self):
        self.refused(WRONG, "tiny, small, middle, base", "--model", "huge")
        with tempfile.TemporaryDirectory() as folder:
            self.refused(WRONG, folder, "--runs", 0, "--check-vectors", folder)


if __name__ == "__main__":
    if not BENCH.exists():
        sys.exit(f"{BENCH} is not built")
    unittest.main()
