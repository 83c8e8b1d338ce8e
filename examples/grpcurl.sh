#!/usr/bin/env bash
# Labels for one small clip with grpcurl alone: grpcurl.sh HOST:PORT CLIP
# The server describes itself by reflection, so no .proto is needed. Bytes are base64 in JSON and
# go through standard input (-d @): a command line is too short for a clip.
set -euo pipefail
[[ $# -eq 2 ]] || { echo "usage: $0 HOST:PORT CLIP" >&2; exit 2; }

{ printf '{"spec": {"tasks": ["TASK_CLASSIFY"], "classify": {"topK": 3}}, "content": "'
  base64 --wrap=0 "$2"
  printf '"}'
} | grpcurl -plaintext -d @ "$1" scanline.v1.VideoService/AnalyzeClip
