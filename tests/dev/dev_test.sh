#!/bin/bash
# ./dev VERB --help only helps, and an argument that a verb does not take is refused.
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() {
  echo "FAILED: $*"
  exit 1
}
usage=$(./dev)
[[ -z $(awk 'length > 80' <<<"$usage") ]] || fail "lines over 80 columns"
for verb in setup build demo serve test fuzz lint bench doctor clean; do
  grep -q "^  ./dev $verb\b" <<<"$usage" || fail "./dev does not list $verb"
  [[ $(timeout 10 ./dev "$verb" --help) == "$usage" ]] || fail "$verb --help prints something else"
done
for verb in setup demo doctor clean nonsense; do
  code=0
  timeout 10 ./dev "$verb" surprise >/dev/null 2>&1 || code=$?
  ((code == 2)) || fail "$verb surprise: exit code $code; expected 2"
done
code=0
bench/gpu_day.sh nonsense >/dev/null 2>&1 || code=$?
((code == 2)) || fail "bench/gpu_day.sh nonsense: exit code $code; expected 2"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo 1 >"$folder/result.json"
code=0
bench/gpu_day.sh run "$folder" >/dev/null 2>&1 || code=$?
((code == 2)) || fail "bench/gpu_day.sh run, with a folder of other files: exit code $code; expected 2"
[[ -s $folder/result.json ]] || fail "bench/gpu_day.sh run removes other files"
echo "dev: help for every verb, arguments checked"
