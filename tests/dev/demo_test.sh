#!/bin/bash
# ./dev demo prints one row a clip, stops its server, and fails when the server cannot start.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  cat "$scratch"/out "$scratch"/err
  echo "FAILED: $*"
  exit 1
}
left_over() { grep -lsz "^DEMO_TEST_MARK=$scratch$" /proc/[0-9]*/environ | grep -v "/$$/" || true; }

export DEMO_TEST_MARK=$scratch # Every process that the demo starts inherits it.
./dev demo >"$scratch/out" 2>"$scratch/err" </dev/null || fail "exit code $?; expected 0"
rows=$(grep -cE '\.(mp4|avi)' "$scratch/out") || fail "no row names a clip"
((rows == 8)) || fail "$rows rows name a clip; expected 8"
grep -q 'pan_left' "$scratch/out" || fail "no clip was labelled pan_left"
grep -q './dev serve' "$scratch/err" || fail "it does not say what to type next"
[[ -z $(left_over) ]] || fail "still running: $(left_over)"

code=0
SCANLINE_MODEL=$scratch/no-such-model ./dev demo >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
((code == 1)) || fail "exit code $code without a model; expected 1"
grep -q 'no-such-model' "$scratch/err" || fail "the message does not name the missing model"
[[ ! -s $scratch/out ]] || fail "standard output carries more than data"
[[ -z $(left_over) ]] || fail "still running after a failure: $(left_over)"
echo "demo: $rows rows, server stopped, failure reported"
