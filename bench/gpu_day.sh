#!/bin/bash
# A day on a GPU, in ten minutes: is the CUDA engine right, and how fast is it?
#
#   bench/gpu_day.sh pack           where everything is installed but perhaps no GPU: builds
#                                   scanline-engine-bench with CUDA and puts it, its libraries and
#                                   the reference vectors into out/gpu_day (under 64 MB), which
#                                   travels with the checkout
#   bench/gpu_day.sh run [FOLDER]   on the GPU machine, which needs the driver, CUDA 13's cuBLASLt
#                                   and a python3 with torch 2.11.0+cu130, whose LibTorch and
#                                   libraries are used; compute-sanitizer where it has it. FOLDER
#                                   (out/gpu_day_results) takes report.json, which holds all figures
#                                   and the output of what failed, and a log of each step. Where
#                                   out/gpu_day is missing it is packed first.
#
# SCANLINE_GPU_ARCH=90-real names the architectures to build for: that of the GPU at hand, or where
# there is none 90-real, an H100 or H200. SCANLINE_PYTHON names another python3.
# Exits with 3 where there is no GPU, with 1 where something was wrong or not done.
set -euo pipefail
script=$(readlink -f "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."
pack=$PWD/out/gpu_day
program=$pack/bin/scanline-engine-bench
cache=${SCANLINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/scanline}
device=cuda:0
seconds=540 # Of all of `run`, but for a pack that it makes.
running=    # The process of a step.

say() { printf '%s\n' "$*" >&2; }
die() {
  local code=$1
  shift
  say "gpu_day: $*"
  exit "$code"
}

# LibTorch and CUDA are the GPU machine's, as are the C and C++ libraries; the rest comes along.
copy_libraries() { # copy_libraries PROGRAM
  local name arrow path
  while read -r name arrow path _; do
    [[ $arrow == "=>" ]] || continue
    [[ $path == /* ]] || die 1 "$1 needs $name, which is not found here"
    case $name in
      libtorch* | libc10* | libgomp* | libcu* | libnv*) ;;
      libstdc++* | libgcc_s* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux* | libresolv.so* | libutil.so*) ;;
      *) cp -L "$path" "$pack/lib/" ;;
    esac
  done < <(ldd "$1")
}

architecture() {
  if [[ -n ${SCANLINE_GPU_ARCH:-} ]]; then
    echo "$SCANLINE_GPU_ARCH"
  elif nvidia-smi -L >/dev/null 2>&1; then
    echo native
  else
    echo 90-real
  fi
}

# The commit, and on a second line that there are changes since.
commit_here() {
  git rev-parse HEAD
  [[ -z $(git status --porcelain --untracked-files=no -- model base bench cmake CMakeLists.txt) ]] ||
    echo changed
}

cmd_pack() {
  local build=$PWD/build/gpu_day
  export SCANLINE_CACHE=$cache
  cmake --preset cuda -B "$build" -DSCANLINE_PARTS="base;model" -DSCANLINE_TESTS=OFF \
    -DCMAKE_CUDA_ARCHITECTURES="$(architecture)" >/dev/null
  cmake --build "$build" --parallel "$(nproc)" --target scanline-engine-bench >&2
  rm -rf "$pack"
  mkdir -p "$pack/bin" "$pack/lib" "$pack/vectors"
  copy_libraries "$build/bin/scanline-engine-bench"
  cp tests/data/reference/{model_vm_d,model_pro_,real_}*.safetensors "$pack/vectors/"
  commit_here >"$pack/commit" || echo unknown >"$pack/commit"
  # Last, since `run` takes the program for the whole.
  strip -o "$program" "$build/bin/scanline-engine-bench"
  say "Packed $(du -sh "$pack" | cut -f1) into $pack. On the GPU machine: bench/gpu_day.sh run"
}

# Of a Python that has torch: the folders of its LibTorch and of the CUDA libraries of its wheels
# (nvidia/cu13/lib and others beside it), with colons. Nothing where it has none.
torch_libraries() { # torch_libraries PYTHON
  "$1" - <<'PYTHON' 2>/dev/null || true
import importlib.util
import pathlib
torch = importlib.util.find_spec("torch")
nvidia = importlib.util.find_spec("nvidia")
if torch is not None:
    folders = [pathlib.Path(torch.origin).parent / "lib"]
    for place in nvidia.submodule_search_locations if nvidia is not None else []:
        folders += sorted(pathlib.Path(place).glob("*/lib"))
    print(":".join(map(str, folders)))
PYTHON
}

# Sets `python` and `torch` to the first Python that has torch and to its libraries. Where none has,
# the program may still find a LibTorch that ./dev setup fetched.
find_torch() {
  for python in "${SCANLINE_PYTHON:-python3}" "$cache/bench-venv/bin/python"; do
    torch=$(torch_libraries "$python")
    [[ -z $torch ]] || return 0
  done
  python=
}

find_sanitizer() {
  local path
  for path in "$(command -v compute-sanitizer)" "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" \
    /usr/local/cuda*/bin/compute-sanitizer /opt/nvidia/compute-sanitizer/compute-sanitizer; do
    if [[ -n $path && -x $path ]]; then
      echo "$path"
      return
    fi
  done
}

# What becomes of a step: its exit code, or why it was not begun. gpu_report.py reads it.
note() { # note NAME CODE_OR_WORDS
  printf '%s\t%s\n' "$1" "$2" >>"$results/exits.tsv"
  say "  $1: $2 at $SECONDS s"
}

# Runs one step with what is left of the time and keeps its output in FOLDER/NAME.json and .log.
step() { # step NAME SECONDS COMMAND...
  local name=$1 most=$2 left=$((ends - SECONDS)) code=0
  shift 2
  if ((left < 10)); then
    note "$name" "no time left"
    return 0
  fi
  # Beside this shell, which a signal would find waiting until the step ends.
  timeout --kill-after=5 "$((most < left ? most : left))" "$@" >"$results/$name.json" \
    2>"$results/$name.log" </dev/null &
  running=$!
  wait "$running" || code=$?
  running=
  note "$name" "$code"
}

stop() { # stop CODE
  [[ -z $running ]] || kill "$running" 2>/dev/null || true # timeout ends what it runs
  die "$1" "stopped; what was measured lies in $results"
}

# Against the vectors, and the way from pictures beside that of the CPU.
check_answers() {
  local precision
  for precision in fp32 bf16; do
    step "errors_$precision" 60 "${bench[@]}" --device "$device" --precision "$precision" --runs 0 \
      --check-vectors "$pack/vectors"
  done
  step pictures_cpu 30 "${bench[@]}" --device cpu --runs 1 --profile latency
  for precision in fp32 bf16; do
    step "pictures_$precision" 30 "${bench[@]}" --device "$device" --precision "$precision" --runs 1
  done
}

# Small models of each kind, and one layer of Tiny in its own sizes with a place of padding. Only our
# own kernels are looked into; a CUDA call that fails is an error of the program.
check_with_sanitizers() {
  local sanitizer tool precision
  sanitizer=$(find_sanitizer)
  if [[ -z $sanitizer ]]; then
    note sanitizers "compute-sanitizer is not installed"
    return 0
  fi
  mkdir -p "$results/small"
  cp "$pack"/vectors/model_vm_d32_f4.safetensors "$pack"/vectors/model_pro_*.safetensors \
    "$results/small/"
  for precision in bf16 fp32; do
    for tool in memcheck racecheck synccheck; do
      step "sanitizer_${tool}_$precision" 45 "${libraries[@]}" "$sanitizer" --tool "$tool" \
        --error-exitcode 9 --kernel-name kns=scanline --report-api-errors no \
        "$program" --device "$device" --precision "$precision" --layers 1 --batch 3 --runs 1 \
        --check-vectors "$results/small"
    done
  done
}

measure_peers() {
  local model
  if [[ -z $python ]]; then
    note peers "no Python with torch"
    return 0
  fi
  for model in tiny small middle; do
    step "peer_$model" 40 "$python" bench/engine_peers.py eager --model "$model" --device cuda \
      --batch 1 --batch 8 --runs 3
  done
}

measure() {
  local model frames
  for model in tiny small middle; do
    step "kernels_$model" 30 "${bench[@]}" --device "$device" --model "$model" --runs 0 --kernels 16
  done
  for frames in 8 16 32 64; do
    for model in tiny small middle; do
      step "speed_${model}_$frames" 60 "${bench[@]}" --device "$device" --model "$model" \
        --frames "$frames" --batch 1 --batch 2 --batch 4 --batch 8 --batch 16 --batch 32 --batch 64
    done
  done
}

# Ends the script where the program does not start (1) or there is no GPU (3).
probe() {
  local code=0
  timeout --kill-after=5 60 "${bench[@]}" --device "$device" --runs 0 >"$results/probe.json" \
    2>"$results/probe.log" || code=$?
  ((code != 0)) || return 0
  cat "$results/probe.log" >&2
  ((code != 3)) || die 3 "there is no GPU that can be used here; nothing was measured"
  [[ -n $torch ]] || say "gpu_day: no Python here has torch 2.11.0, whose libraries are needed"
  die 1 "$program does not run here (exit code $code); nothing was measured"
}

make_pack() {
  say "$pack is not there: packing it first"
  bash "$script" pack || die 1 "packing failed, see above. On a machine that lacks Scanline's libraries" \
    "(./dev setup installs them), run bench/gpu_day.sh pack elsewhere and bring $pack along"
}

# Files of a run take the place of those of an earlier one, and of nothing else.
check_folder() { # check_folder FOLDER
  if [[ -e $1 && ! -e $1/exits.tsv && ! -e $1/probe.log && -n $(ls -A "$1") ]]; then
    die 2 "expected a new folder, an empty one or that of an earlier run, found files in $1"
  fi
}

cmd_run() {
  local folder=${1:-out/gpu_day_results}
  check_folder "$folder"
  [[ -x $program ]] || make_pack
  if commit_here 2>/dev/null | cmp -s - "$pack/commit"; then :; else
    say "Note: out/gpu_day is of commit $(paste -sd' ' "$pack/commit"), perhaps not of this checkout"
  fi
  mkdir -p "$folder"
  results=$(cd "$folder" && pwd)
  SECONDS=0
  ends=$seconds
  find_torch
  # Of our program alone: Python has its own libraries.
  libraries=(env "LD_LIBRARY_PATH=$pack/lib${torch:+:$torch}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
  bench=("${libraries[@]}" "$program")
  probe
  rm -f "$results"/*.json "$results"/*.log
  : >"$results/exits.tsv"
  trap 'stop 130' INT
  trap 'stop 143' TERM
  say "Checking"
  check_answers
  check_with_sanitizers
  say "Measuring"
  measure_peers
  measure
  python3 bench/gpu_report.py "$results" "$pack/commit"
}

case ${1:-} in
  pack) cmd_pack ;;
  run) cmd_run "${2:-}" ;;
  *) die 2 "expected pack or run [FOLDER], found '${1:-}'; the head of this file says more" ;;
esac
