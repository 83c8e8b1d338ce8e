#!/bin/bash
# A day on a GPU, in ten minutes: is the CUDA engine right, and how fast is it?
#
#   bench/gpu_day.sh pack           here, where everything is installed but perhaps no GPU: builds
#                                   and puts programs, their libraries and the reference vectors
#                                   into out/gpu_day (under 64 MB), which travels with the checkout
#   bench/gpu_day.sh run [FOLDER]   on the GPU machine, which needs the driver, LibTorch 2.11.0 (the
#                                   Python package) and cuBLASLt; compute-sanitizer where it has
#                                   it. FOLDER (out/gpu_day_results) takes report.json, which holds
#                                   all figures, and a log of each step
#
# SCANLINE_GPU_ARCH=90-real names the architectures to build for; 90-real is an H100 or H200.
# Exits with 3 where there is no GPU, with 1 where something was wrong.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
pack=$PWD/out/gpu_day
seconds=540 # Of all of `run`.

say() { printf '%s\n' "$*" >&2; }
die() {
  local code=$1
  shift
  say "gpu_day: $*"
  exit "$code"
}

# LibTorch and CUDA are the GPU machine's, as are the C and C++ libraries; the rest comes along.
copy_libraries() { # copy_libraries PROGRAM
  local name path
  while read -r name path; do
    case $name in
      libtorch* | libc10* | libgomp* | libcud* | libcupti* | libnv*) ;;
      libstdc++* | libgcc_s* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux* | libresolv.so* | libutil.so*) ;;
      *) cp -L "$path" "$pack/lib/" ;;
    esac
  done < <(ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}')
}

cmd_pack() {
  local build=$PWD/build/gpu_day
  export SCANLINE_CACHE=${SCANLINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/scanline}
  cmake --preset cuda -B "$build" -DSCANLINE_PARTS="base;model" -DSCANLINE_TESTS=OFF \
    -DCMAKE_CUDA_ARCHITECTURES="${SCANLINE_GPU_ARCH:-90-real}" >/dev/null
  cmake --build "$build" --parallel "$(nproc)" --target scanline-gpu-bench >&2
  rm -rf "$pack"
  mkdir -p "$pack/bin" "$pack/lib" "$pack/vectors"
  strip -o "$pack/bin/scanline-gpu-bench" "$build/bin/scanline-gpu-bench"
  copy_libraries "$pack/bin/scanline-gpu-bench"
  cp tests/data/reference/{model_vm_d,model_pro_,real_}*.safetensors "$pack/vectors/"
  git rev-parse HEAD >"$pack/commit"
  say "Packed $(du -sh "$pack" | cut -f1) into $pack. On the GPU machine: bench/gpu_day.sh run"
}

# The folder of LibTorch in the Python package, whose loader path finds its CUDA libraries.
torch_libraries() {
  python3 - <<'PYTHON'
import importlib.util
import pathlib
spec = importlib.util.find_spec("torch")
site = pathlib.Path(spec.origin).parent
print(":".join(str(p) for p in [site / "lib", *site.parent.glob("nvidia/*/lib")]))
PYTHON
}

# Runs one step with what is left of the time and keeps its output in FOLDER/NAME.json.
step() { # step NAME SECONDS COMMAND...
  local name=$1 most=$2 left=$((seconds - SECONDS)) code=0
  shift 2
  if ((left < 5)); then
    say "  $name: no time left"
    echo "$name: no time left" >>"$results/failures"
    return 0
  fi
  timeout "$((most < left ? most : left))" "$@" >"$results/$name.json" 2>"$results/$name.log" ||
    code=$?
  say "  $name: exit $code at $SECONDS s"
  ((code == 0)) || echo "$name: exit $code, $(tail -n 1 "$results/$name.log")" >>"$results/failures"
}

# A checker's word is its exit code; what it writes goes to the log.
check() { # check TOOL COMMAND...
  local tool=$1
  shift
  step "sanitizer_$tool" 90 "${libraries[@]}" compute-sanitizer --tool "$tool" --error-exitcode 9 "$@"
}

cmd_run() {
  local program=$pack/bin/scanline-gpu-bench model frames tool torch
  results=$(mkdir -p "${1:-out/gpu_day_results}" && cd "${1:-out/gpu_day_results}" && pwd)
  [[ -x $program ]] || die 1 "$pack is not there: run bench/gpu_day.sh pack on the build machine first"
  rm -f "$results"/*.json "$results"/*.log "$results/failures"
  torch=$(torch_libraries) || die 1 "python3 has no torch here: LibTorch 2.11.0 is taken from it"
  # Of our program alone: Python has its own libraries.
  libraries=(env "LD_LIBRARY_PATH=$pack/lib:$torch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
  bench=("${libraries[@]}" "$program")
  if ! "${bench[@]}" >"$results/probe.log" 2>&1; then
    cat "$results/probe.log" >&2
    die 3 "there is no GPU that can be used here; nothing was measured"
  fi
  say "Checking"
  step errors 60 "${bench[@]}" --check-vectors "$pack/vectors"
  if command -v compute-sanitizer >/dev/null; then
    mkdir -p "$results/small"
    cp "$pack"/vectors/model_vm_d32_f4.safetensors "$pack"/vectors/model_pro_*.safetensors \
      "$results/small/"
    for tool in memcheck racecheck synccheck; do
      check "$tool" "$program" --check-vectors "$results/small"
    done
  else
    say "  compute-sanitizer is not here: left out"
    echo "compute-sanitizer: not installed" >>"$results/failures"
  fi
  say "Measuring"
  # First what all else is compared with: PyTorch eager, and the same as one CUDA graph, the faster
  # peer that can be made there.
  for model in tiny small middle; do
    step "peer_$model" 40 python3 bench/engine_peers.py eager --model "$model" --device cuda \
      --batch 1 --batch 8 --runs 3
  done
  for model in tiny small middle; do
    step "kernels_$model" 30 "${bench[@]}" --model "$model" --kernels 16
    for frames in 8 16 32 64; do
      step "speed_${model}_$frames" 40 "${bench[@]}" --model "$model" --frames "$frames" --runs 5 \
        --batch 1 --batch 2 --batch 4 --batch 8 --batch 16 --batch 32 --batch 64
    done
  done
  python3 bench/gpu_report.py "$results" "$pack/commit"
}

case ${1:-} in
  pack) cmd_pack ;;
  run) cmd_run "${2:-}" ;;
  *) die 2 "expected pack or run [FOLDER], found '${1:-}'; the head of this file says more" ;;
esac
