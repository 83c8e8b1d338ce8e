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
demo() { # Every process that it starts inherits the mark.
  DEMO_TEST_MARK=$scratch ./dev demo >"$scratch/out" 2>"$scratch/err" </dev/null
}
left_over() { grep -lsz "^DEMO_TEST_MARK=$scratch$" /proc/[0-9]*/environ || true; }
# The head and, of each clip, its name, its best label and what was sampled: all but the figures.
labels() {
  sed -nE -e 's/^(CLIP .*)$/\1/p' \
    -e 's/^([^ ]+\.(mp4|avi) +[^ ]+ ).*( [0-9.]+ [^ ]+ .* s \([0-9]+\)).*/\1\3/p' "$1"
}

demo || fail "exit code $?; expected 0"
diff <(labels README.md) <(labels "$scratch/out") >&2 || fail "README.md shows other rows"
rows=$(labels "$scratch/out" | grep -vc '^CLIP ')
((rows == 8)) || fail "$rows rows name a clip; expected 8"
grep -q './dev serve' "$scratch/err" || fail "it does not say what to type next"
[[ -z $(left_over) ]] || fail "still running: $(left_over)"

code=0
SCANLINE_MODEL=$scratch/no-such-model demo || code=$?
((code == 1)) || fail "exit code $code without a model; expected 1"
grep -q 'no-such-model' "$scratch/err" || fail "the message does not name the missing model"
[[ ! -s $scratch/out ]] || fail "standard output carries more than data"
[[ -z $(left_over) ]] || fail "still running after a failure: $(left_over)"
echo "demo: $rows rows, server stopped, failure reported"
