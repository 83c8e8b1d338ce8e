"""What the benchmarks make of their measurements, and README.md's table of the results kept."""

import argparse
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import common  # noqa: E402
import engine  # noqa: E402
import engine_picture  # noqa: E402
import engine_report as report  # noqa: E402
import gpu_report  # noqa: E402
import readme_table  # noqa: E402


def ours(latency, throughput, cpu):
    return {"latency": {"clip_s": latency}, "throughput": {"clip_s": throughput, "cpu_s": cpu}}


def one_round(latency, gemms, eager_cpu):
    return {"ours": ours(latency, latency / 2, latency * 2),
            "gemms": {"gemms": {"wall_s": [2 * gemms, gemms], "cpu_s": [gemms]},
                      "gemms_packed": {"wall_s": [gemms / 2], "cpu_s": [gemms / 4]}},
            "eager": {"wall_s": [eager_cpu], "cpu_s": [2 * eager_cpu]},
            "eager_alone": {"wall_s": [2 * eager_cpu], "cpu_s": [eager_cpu]}}


def result_of(**changes):
    """A result in which every target is met."""
    variant = {"latency_ms": {"best": 100.0, "median": 110.0},
               "throughput_ms": {"best": 90.0, "median": 95.0}, "clips_per_s": 11.0, "cpu_ms": 180.0,
               "shares": {"products": 0.6, "scan": 0.25, "conv": 0.1, "other": 0.05, "waiting": 0.02},
               "activations_mb": 15.0, "steady_growth_mb": 0.0, "logits_beside_eager": 1e-6,
               "scan": {"ns": 0.1, "bound_ns": 0.09, "ratio": 1.1},
               "errors": {"rel_l2": 1e-6, "rel_max": 1e-6, "cosine": 1.0, "same_top1": 9, "models": 9},
               "ratios": {"gemms_latency": {"best": 1.0, "median": 1.1},
                          "gemms_throughput": {"best": 0.9, "median": 1.0},
                          "eager_cpu": {"best": 9.0, "median": 9.0}}}
    result = {"model": "tiny", "frames": 8, "threads": 2, "lacking": [],
              "variants": {name: copy.deepcopy(variant)
                           for name in ("avx512 fp32", "avx512_bf16 bf16", "avx2 fp32")},
              "peaks": {"gflops_256": 100, "gflops_512": 200, "triad_gb_s": 20,
                        "fma_ns_256": 0.1, "fma_ns_512": 0.1},
              "long": {"ratio": {"best": 8.1, "median": 8.2}, "cpu_ratio": {"best": 8.0, "median": 8.1},
                       "activations_mb": 113.0},
              "peak_64_frames_mb": {"tiny": 300.0, "middle": 900.0}}
    result |= changes
    result["targets"] = report.targets(result)
    return result


def running(pid):
    """Whether a process is there and has not ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class Program(unittest.TestCase):
    """What the programs have in common: their options, their result file, and how they end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def engine(self, *options, bench="true"):
        return [sys.executable, ROOT / "bench/engine.py", "--bench", bench, "--python", sys.executable,
                *map(str, options)]

    def test_refuses_before_it_measures(self):
        (self.folder / "file").write_text("")
        for option, value, word in (("--rounds", 0, "at least 1"), ("--runs", -1, "at least 1"),
                                    ("--threads", "many", "at least 1"), ("--frames", 0, "at least 1"),
                                    ("--json", self.folder, "folder"),
                                    ("--json", self.folder / "file/result.json", "cannot write")):
            done = subprocess.run(self.engine(option, value), capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr.splitlines()[-1])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["file"])

    def test_result_file_is_made_with_its_folder_and_written_whole(self):
        path = common.result_file(str(self.folder / "new/result.json"))
        self.assertFalse(path.exists())
        common.keep({"a": 1}, path)
        with self.assertRaises(TypeError):
            common.keep({"a": object()}, path)
        self.assertEqual(json.loads(path.read_text()), {"a": 1})
        self.assertEqual(list(path.parent.iterdir()), [path])
        common.keep({"a": 1}, None)
        with self.assertRaises(argparse.ArgumentTypeError):
            common.at_least_one("1.5")

    def test_says_what_a_measured_process_complained_of(self):
        script = "echo first >&2; echo --threads: Value 0 >&2; echo Run with --help for more >&2; exit 105"
        self.assertEqual(common.measure(["sh", "-c", script]), {"error": "--threads: Value 0"})
        self.assertEqual(common.measure(["sh", "-c", "exit 4"]), {"error": "exit code 4"})

    def test_a_signal_ends_it_with_what_it_measures_and_keeps_the_old_result(self):
        bench, pid, kept = (self.folder / name for name in ("bench", "pid", "result.json"))
        bench.write_text(self.measuring(pid))
        bench.chmod(0o755)
        kept.write_text("old")
        for number in (signal.SIGTERM, signal.SIGINT):
            said = self.said_after(number, self.engine("--json", kept, bench=bench), pid)
            self.assertNotIn("Traceback", said)
        self.assertEqual(kept.read_text(), "old")

    @staticmethod
    def measuring(pid, first="true"):
        """A program that measures for long, and writes its id to a file once its parent knows it well."""
        return f"#!/bin/sh\n{first}\nsleep 0.5\necho $$ >{pid}.part && mv {pid}.part {pid}\nexec sleep 100\n"

    def said_after(self, number, command, pid, **more):
        """What a program said that got a signal once its child had written the file `pid`."""
        # Signals as in a terminal, also where the tests run in the background.
        process = subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **more)
        end = time.monotonic() + 30
        while not pid.exists():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        child = int(pid.read_text())
        pid.unlink()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + number, said)
        while running(child):
            self.assertLess(time.monotonic(), end, "what was measured runs on")
            time.sleep(0.01)
        return said

    def test_a_signal_ends_a_day_on_a_gpu(self):
        script, bench = (self.folder / name for name in ("bench/gpu_day.sh",
                                                         "out/gpu_day/bin/scanline-engine-bench"))
        for path in (script, bench):
            path.parent.mkdir(parents=True)
        shutil.copy(ROOT / "bench/gpu_day.sh", script)
        pid = self.folder / "pid"
        bench.write_text(self.measuring(pid, "case $* in *--check-vectors*) ;; *) exit ;; esac"))
        bench.chmod(0o755)
        (self.folder / "out/gpu_day/commit").write_text("unknown\n")
        for number in (signal.SIGTERM, signal.SIGINT):
            said = self.said_after(number, [script, "run"], pid, env=os.environ | {"SCANLINE_PYTHON": "true"})
            self.assertIn("stopped", said)


class Ratios(unittest.TestCase):
    def test_are_of_the_best_runs_and_the_median_of_the_rounds(self):
        self.assertEqual(report.ratio([3, 2, 8], [2, 4, 2]), {"best": 1, "median": 1.5})
        self.assertEqual(report.inverse({"best": 0.5, "median": 0.25}), {"best": 2, "median": 4})

    def test_of_a_variant_compare_each_with_its_own_measure(self):
        ratios = report.ratios_of({"scalar_cpu_s": 40}, [one_round(2, 1, 20), one_round(3, 1, 30)])
        self.assertEqual(ratios["gemms_latency"], {"best": 2, "median": 2.5})
        self.assertEqual(ratios["gemms_throughput"], {"best": 1, "median": 1.25})
        self.assertEqual(ratios["packed_gemms_latency"], {"best": 4, "median": 5})
        self.assertEqual(ratios["packed_gemms_cpu"], {"best": 16, "median": 20})
        self.assertEqual(ratios["gemms_cpu"], {"best": 4, "median": 5})
        self.assertEqual(ratios["eager_cpu"]["best"], 5)
        self.assertEqual(ratios["eager_wall"]["best"], 10)
        self.assertEqual(ratios["scalar_cpu"], {"best": 10})

    def test_are_none_without_peers(self):
        self.assertEqual(report.ratios_of({}, [{"ours": ours(1, 1, 1)}]), {})

    def test_of_few_layers_are_scaled_to_all(self):
        self.assertEqual(report.scaled(5, 7, 24), 5 + 23 * 2)

    def test_scan_is_bound_by_nine_operations_of_a_register(self):
        peaks = {"fma_ns_256": 0.2, "fma_ns_512": 0.4}
        self.assertAlmostEqual(report.scan_bound_ns("avx2", peaks), 0.225)
        self.assertAlmostEqual(report.scan_bound_ns("avx512_bf16", peaks), 0.225)
        self.assertIsNone(report.scan_bound_ns("scalar", peaks))
        self.assertIsNone(report.scan_bound_ns("avx512", {"fma_ns_256": 0.2, "fma_ns_512": 0}))

    def test_errors_are_the_worst_of_all_models(self):
        errors = [{"rel_l2": 1, "rel_max": 5, "cosine": 0.9, "same_top1": True},
                  {"rel_l2": 2, "rel_max": 3, "cosine": 0.8, "same_top1": False}]
        self.assertEqual(report.worst_error(errors), {"rel_l2": 2, "rel_max": 5, "cosine": 0.8,
                                                      "same_top1": 1, "models": 2})
        self.assertEqual(report.rel_max([1, -3], [1, -4]), 0.25)


class Targets(unittest.TestCase):
    def missed_with(self, **changes):
        return report.missed(result_of(**changes)["targets"])

    def test_are_met_at_their_limits(self):
        self.assertEqual(self.missed_with(), [])
        long = {"ratio": {"best": 9, "median": 8.3}, "activations_mb": 150}
        self.assertEqual(self.missed_with(long=long, peak_64_frames_mb={"middle": 4 * 1024**3 / 1e6}), [])

    def test_are_missed_behind_their_limits(self):
        for key, change, word in (
                ("long", {"ratio": {"best": 8, "median": 8.31}, "activations_mb": 1}, "64 frames / 8 frames"),
                ("long", {"ratio": {"best": 8, "median": 8}, "activations_mb": 150.1}, "activations of 64 frames"),
                ("peak_64_frames_mb", {"middle": 4295.0}, "middle, 64 frames")):
            missed = self.missed_with(**{key: change})
            self.assertEqual(len(missed), 1, missed)
            self.assertIn(word, missed[0])

    def test_of_each_path_have_limits_of_their_own(self):
        limits = {("avx512 fp32", "gemms_latency"): 1.6, ("avx512 fp32", "gemms_throughput"): 1.6,
                  ("avx512_bf16 bf16", "gemms_latency"): 1.1, ("avx2 fp32", "gemms_latency"): 2.0,
                  ("avx512 fp32", "eager_cpu"): 5, ("avx512_bf16 bf16", "eager_cpu"): 7}
        for (name, key), limit in limits.items():
            for factor, met in ((0.99, key != "eager_cpu"), (1.01, key == "eager_cpu")):
                result = result_of()
                result["variants"][name]["ratios"][key]["best"] = limit * factor
                missed = report.missed(report.targets(result))
                self.assertEqual(missed == [], met, (name, key, factor, missed))
                self.assertTrue(all(name in one for one in missed))

    def test_of_what_was_not_measured_are_neither_met_nor_missed(self):
        result = result_of(lacking=["avx512_bf16"])
        del result["variants"]["avx512_bf16 bf16"]
        rows = [one for one in report.targets(result) if "bf16" in one["what"]]
        self.assertTrue(rows)
        self.assertEqual({one["met"] for one in rows}, {None})

    def test_are_those_of_tiny_with_8_frames_and_2_threads(self):
        for change in ({"model": "small"}, {"frames": 16}, {"threads": 4}):
            rows = result_of(**change)["targets"]
            self.assertFalse([one for one in rows if "alone" in one["what"]])

    def test_logits_unlike_those_of_pytorch_are_a_miss(self):
        result = result_of()
        result["variants"]["avx2 fp32"]["logits_beside_eager"] = 2e-3
        self.assertEqual(len(report.missed(report.targets(result))), 1)


class Table(unittest.TestCase):
    def test_says_of_every_target_whether_it_is_met(self):
        result = result_of(long={"ratio": {"best": 9, "median": 9}, "activations_mb": None}, lacking=["avx512"])
        lines = list(report.table(result))
        self.assertTrue(any("NOT MET" in line and "<= 8.3" in line for line in lines))
        self.assertTrue(any("not measured" in line and "activations" in line for line in lines))
        self.assertTrue(any("this machine lacks it" in line for line in lines))
        self.assertTrue(any(line.startswith("met") for line in lines))

    def test_command_is_that_of_the_user(self):
        words = ["--bench", "B", "--python", "P", "--model", "small", "--json", "F", "--check"]
        self.assertEqual(engine.given(words), ["--model", "small"])

    def test_paths_are_those_of_the_machine_or_the_one_asked_for(self):
        class Args:
            path, precision = None, "auto"
        self.assertEqual(engine.chosen(Args, ["scalar", "avx2"]), [("avx2", "fp32")])
        Args.precision = "bf16"
        self.assertEqual(engine.chosen(Args, ["avx2", "avx512", "avx512_bf16"]), [("avx512_bf16", "bf16")])
        Args.path = "avx512_bf16"
        self.assertEqual(engine.chosen(Args, ["avx512_bf16"]), [("avx512_bf16", "bf16")])
        Args.path, Args.precision = "scalar", "auto"
        self.assertEqual(engine.chosen(Args, ["scalar"]), [("scalar", "fp32")])
        with self.assertRaisesRegex(SystemExit, "expected --path of scalar, avx2 .*found scalar5"):
            Args.path = "scalar5"
            engine.chosen(Args, ["scalar", "avx2"])


class GpuDay(unittest.TestCase):
    """What bench/gpu_report.py makes of the files of a day in which all is well but for `changes`."""

    ERROR = {"model": "model_a", "rel_l2": 1e-6, "cosine": 1.0, "same_top1": True, "good": True}

    def report(self, exits=None, **changes):
        speed = {"batch": 8, "pass_s": [0.1], "clips_per_s": 80.0, "same_bits": True}
        chip = {"name": "NVIDIA H200", "multiprocessors": 132}
        steps = {"errors_fp32": {"chip": chip, "errors": [self.ERROR]},
                 "pictures_cpu": {"logits": [1.0, 2.0]}, "pictures_fp32": {"logits": [1.0, 2.0]},
                 "speed_tiny_8": {"speed": [speed], "logits": [1.0]},
                 "peer_tiny": {"speed": [{"batch": 8, "eager_s": [2.0, 1.0], "graph_s": [0.5]}]}}
        texts = {name: json.dumps(step) for name, step in (steps | changes).items()}
        exits = {name: "0" for name in steps} | (exits or {})
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in texts.items():
                (folder / f"{name}.json").write_text(f"========= SANITIZER\n{text}\n{{cut")
            (folder / "exits.tsv").write_text("".join(f"{name}\t{code}\n"
                                                      for name, code in exits.items()))
            return gpu_report.report_of(folder, ["0123456789abcdef"])

    def test_is_in_order(self):
        report = self.report()
        self.assertEqual((report["wrong"], report["not_done"], report["failed_output"]), ([], [], {}))
        self.assertEqual(report["machine"]["gpu"]["name"], "NVIDIA H200")
        self.assertFalse(report["changed_since_commit"])
        self.assertNotIn("logits", report["steps"]["speed_tiny_8"])
        self.assertIn("speed_tiny_8           batch  8       80.0 clips/s", gpu_report.summary(report))
        self.assertIn("peer_tiny graph        batch  8       16.0 clips/s", gpu_report.summary(report))

    def test_what_was_not_done_is_told_from_what_is_wrong(self):
        report = self.report({"sanitizer_memcheck_bf16": "9", "sanitizer_racecheck_bf16": "255",
                              "speed_small_8": "124", "peers": "no Python with torch"})
        self.assertEqual(report["wrong"], ["sanitizer_memcheck_bf16: errors, see its output"])
        self.assertEqual(report["not_done"], ["sanitizer_racecheck_bf16: exit code 255",
                                              "speed_small_8: ran out of its time",
                                              "peers: no Python with torch"])

    def test_keeps_the_output_of_what_failed(self):
        report = self.report({"errors_fp32": "1"})
        self.assertEqual(list(report["failed_output"]), ["errors_fp32.json"])
        self.assertIn("SANITIZER", report["failed_output"]["errors_fp32.json"][0])

    def test_wrong_answers_are_named(self):
        for change, word in (
                ({"errors_fp32": {"errors": [self.ERROR | {"good": False}]}}, "errors_fp32 model_a"),
                ({"errors_fp32": {"errors": [self.ERROR | {"good": False, "rel_l2": None}]}}, "rel L2 -"),
                ({"errors_fp32": {}}, "no vector was checked"),
                ({"speed_tiny_8": {"speed": [{"batch": 2, "clips_per_s": 1, "same_bits": False}]}},
                 "a batch of 2 changes the bits"),
                ({"pictures_fp32": {"logits": [1.0, 2.0001]}}, "from pictures, fp32"),
                ({"pictures_bf16": {"logits": [2.0, 1.0]}}, "from pictures, bf16"),
                ({"pictures_bf16": {"logits": [None, 2.0]}}, "from pictures, bf16")):
            wrong = self.report(**change)["wrong"]
            self.assertEqual(len(wrong), 1, wrong)
            self.assertIn(word, wrong[0])
        self.assertEqual(self.report(pictures_bf16={"logits": [1.0, 2.01]})["wrong"], [])

    def test_is_a_table_of_the_readme(self):
        lines = list(readme_table.lines({"gpu": self.report({"speed_small_8": "124"})}))
        self.assertIn("| Tiny, 8 | 80 | 8 | 16 |", lines)
        self.assertIn("- not in order: speed_small_8: ran out of its time", lines)
        self.assertTrue(any("NVIDIA H200" in line for line in lines))
        self.assertTrue(any("`bench/gpu_day.sh run`" in line and "01234567" in line for line in lines))
        self.assertNotIn("GPU figures are not measured yet.", lines)


class Long(unittest.TestCase):
    def test_compares_a_long_clip_with_the_mean_of_those_before_it(self):
        def measured(frames, pass_s, cpu_s):
            return {"frames": frames, "path": "avx2", "precision": "fp32",
                    "latency": {"pass_s": pass_s, "clip_s": min(pass_s), "cpu_s": cpu_s,
                                "memory": {"activations_mb": frames, "peak_mb": 2 * frames}}}
        pairs = [(measured(8, [1, 3], 4), measured(64, [16], 32)),
                 (measured(8, [2, 2], 4), measured(64, [20], 36)),
                 (measured(8, [1, 1], 2), measured(64, [8.2], 17))]
        result = engine.long_of(pairs)
        self.assertEqual(result["ratio"], {"best": 8.2, "median": 8.2})
        self.assertEqual(result["cpu_ratio"]["median"], 8.5)
        self.assertEqual(result["activations_mb"], 64)
        self.assertNotIn("ratio", engine.long_of([(measured(16, [1], 1), measured(64, [4], 4))]))


class Readme(unittest.TestCase):
    def test_has_the_table_of_the_results_that_are_kept(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertEqual(readme, readme_table.replaced(readme, readme_table.made()),
                         "run bench/readme_table.py --write")

    def test_shows_the_picture_of_the_results_that_are_kept(self):
        drawn = (ROOT / readme_table.PICTURE).read_text(encoding="utf-8")
        self.assertEqual(drawn, readme_table.picture(), "run bench/readme_table.py --write")
        xml.dom.minidom.parseString(drawn)

    def test_draws_parts_that_make_up_the_whole_and_a_bound_within(self):
        result = readme_table.kept()["engine"]
        for name, variant in result["variants"].items():
            whole = variant["latency_ms"]["best"]
            parts = engine_picture.parts_ms(variant)
            self.assertAlmostEqual(sum(parts.values()), whole, delta=0.01 * whole)
            bounds = report.bounds_ms(result["model"], result["tokens"], result["threads"], name,
                                      result["peaks"])
            self.assertLess(bounds["multiply_adds"], whole)
            self.assertGreater(bounds["multiply_adds"], whole / 4)
            self.assertAlmostEqual(variant["bounds_ms"]["multiply_adds"], bounds["multiply_adds"],
                                   delta=0.01 * whole)

    def test_table_has_every_kept_result_with_its_commit(self):
        table = readme_table.made()
        kept = list((ROOT / "bench/results").glob("*.json"))
        self.assertTrue(kept)
        for path in kept:
            result = json.loads(path.read_text(encoding="utf-8"))
            self.assertIn(f"`{result['command']}`", table)
            self.assertIn(result["commit"][:8], table)

    def test_refuses_a_result_that_makes_no_table(self):
        result = readme_table.kept()["engine"]
        name = next(iter(result["variants"]))
        ours_alone = copy.deepcopy(result)
        ours_alone["variants"][name]["ratios"] = {}
        for wrong in (ours_alone, result | {"model": "default"}):
            with self.assertRaises(SystemExit) as refused:
                list(readme_table.lines({"engine": wrong}))
            self.assertIn("./dev bench engine", str(refused.exception))

    def test_needs_its_markers(self):
        with self.assertRaises(SystemExit):
            readme_table.replaced("no markers", "table")


if __name__ == "__main__":
    unittest.main()
