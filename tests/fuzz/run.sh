#!/bin/bash
# Runs one fuzz program from its seeds for SCANLINE_FUZZ_SECONDS (30). New inputs go to a scratch
# folder; an input that fails is left in the folder fuzz/failures of the build, and belongs into
# SEEDS once it is fixed. Usage: run.sh PROGRAM SEEDS...
set -euo pipefail

program=$1
shift
seconds=${SCANLINE_FUZZ_SECONDS:-30}
failures=$(dirname "$program")/failures/$(basename "$program")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$failures"

seeds=()
for folder in "$@"; do
  if [[ -z $(find "$folder" -maxdepth 1 -type f -print -quit) ]]; then
    echo "run.sh: no seeds in $folder" >&2
    exit 1
  fi
  seeds+=("$folder")
done

# Leaks are looked for at the end; a single input may take 2 GB and 20 s on the clock: a fraction of
# a second may become 6 where others use the cores.
"$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
  -verbosity="${SCANLINE_FUZZ_VERBOSITY:-1}" -artifact_prefix="$failures/" \
  "$scratch" "${seeds[@]}"
