#!/usr/bin/env python3
"""Loads an index into Milvus and searches it: load_milvus.py WHERE EXPORT.jsonl [QUERY.ndjson]

WHERE: an address (http://localhost:19530), or a file name that ends with .db: Milvus Lite.
EXPORT.jsonl: scanline export INDEX --to jsonl -o EXPORT.jsonl
QUERY.ndjson: scanline embed --text "a ball moves down" --format ndjson > QUERY.ndjson

Needs `pip install pymilvus milvus-lite`. Loading again replaces the rows of the same ids.
"""

import sys

from exported import first, moments, show, text_vector
from pymilvus import DataType, MilvusClient

NAME = "scanline"
FIELDS = ("id", "path", "start_s", "end_s", "sha256", "vector")


def create(client, dim):
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.VARCHAR, max_length=64, is_primary=True)
    schema.add_field("path", DataType.VARCHAR, max_length=4096)
    schema.add_field("start_s", DataType.DOUBLE)
    schema.add_field("end_s", DataType.DOUBLE)
    schema.add_field("sha256", DataType.VARCHAR, max_length=64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    index = client.prepare_index_params()
    # IP and not COSINE: the mean of several frames' or views' vectors is shorter than 1, and its
    # length is a part of the similarity. FLAT is exact; a large collection wants HNSW.
    index.add_index(field_name="vector", index_type="FLAT", metric_type="IP")
    client.create_collection(NAME, schema=schema, index_params=index)


def main(where, export, query=None):
    client = MilvusClient(where)
    head = first(export)
    if head is None:
        sys.exit(f"{export} has no moments")
    if not client.has_collection(NAME):
        create(client, len(head["vector"]))
    for batch in moments(export):
        client.upsert(NAME, data=[{name: moment[name] for name in FIELDS} for moment in batch])
    client.flush(NAME)
    client.load_collection(NAME)
    rows = client.query(NAME, output_fields=["count(*)"])[0]["count(*)"]
    print(f"{rows} moments in {NAME}", file=sys.stderr)
    if query is not None:
        hits = client.search(
            NAME,
            data=[text_vector(query)],
            anns_field="vector",
            limit=5,
            output_fields=["path", "start_s", "end_s"],
        )[0]
        show(
            (h["distance"], h["entity"]["path"], h["entity"]["start_s"], h["entity"]["end_s"])
            for h in hits
        )
    client.close()


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
