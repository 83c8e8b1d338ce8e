#!/usr/bin/env python3
"""Loads an index into Qdrant and searches it: load_qdrant.py WHERE EXPORT.jsonl [QUERY.ndjson]

WHERE: an address (http://localhost:6333), or a folder, which Qdrant's client then keeps itself.
EXPORT.jsonl: scanline export INDEX --to jsonl -o EXPORT.jsonl
QUERY.ndjson: scanline embed --text "a ball moves down" --format ndjson > QUERY.ndjson

Needs `pip install qdrant-client`. Loading again replaces the points of the same ids.
"""

import sys
import uuid

from exported import first, moments, show, text_vector
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

NAME = "scanline"


def point(moment):
    # Qdrant takes numbers or UUIDs as ids: the same moment has the same UUID every time.
    payload = {key: moment[key] for key in ("id", "path", "start_s", "end_s", "sha256")}
    return PointStruct(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, moment["id"])),
        vector=moment["vector"],
        payload=payload,
    )


def main(where, export, query=None):
    client = QdrantClient(url=where) if "://" in where else QdrantClient(path=where)
    head = first(export)
    if head is None:
        sys.exit(f"{export} has no moments")
    if not client.collection_exists(NAME):
        # DOT and not COSINE: the mean of several frames' or views' vectors is shorter than 1, and
        # its length is a part of the similarity.
        params = VectorParams(size=len(head["vector"]), distance=Distance.DOT)
        client.create_collection(NAME, vectors_config=params)
    for batch in moments(export):
        client.upsert(NAME, points=[point(moment) for moment in batch], wait=True)
    print(f"{client.count(NAME).count} moments in {NAME}", file=sys.stderr)
    if query is not None:
        hits = client.query_points(NAME, query=text_vector(query), limit=5).points
        show((h.score, h.payload["path"], h.payload["start_s"], h.payload["end_s"]) for h in hits)
    client.close()


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
