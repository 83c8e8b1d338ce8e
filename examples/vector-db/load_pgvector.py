#!/usr/bin/env python3
"""Loads an index into PostgreSQL with pgvector and searches it:
load_pgvector.py CONNECTION EXPORT.jsonl [QUERY.ndjson]

CONNECTION: as psql takes it, "postgresql://user@host/database".
EXPORT.jsonl: scanline export INDEX --to jsonl -o EXPORT.jsonl
QUERY.ndjson: scanline embed --text "a ball moves down" --format ndjson > QUERY.ndjson

Needs `pip install "psycopg[binary]"` and a server that has the extension `vector`. Loading again
replaces the rows of the same ids.
"""

import sys

import psycopg
from exported import first, moments, show, text_vector

CREATE = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS moments (
  id text PRIMARY KEY, path text NOT NULL, start_s double precision NOT NULL,
  end_s double precision NOT NULL, sha256 text NOT NULL, embedding vector(%d) NOT NULL);
CREATE TEMPORARY TABLE arrived (LIKE moments) ON COMMIT DROP;
"""
MERGE = """
INSERT INTO moments SELECT * FROM arrived
ON CONFLICT (id) DO UPDATE SET path = EXCLUDED.path, start_s = EXCLUDED.start_s,
  end_s = EXCLUDED.end_s, sha256 = EXCLUDED.sha256, embedding = EXCLUDED.embedding
"""
# <#> is minus the inner product, and not <=>, the cosine distance: the mean of several frames' or
# views' vectors is shorter than 1, and its length is a part of the similarity.
SEARCH = """
SELECT -(embedding <#> %s::vector), path, start_s, end_s
FROM moments ORDER BY embedding <#> %s::vector, id LIMIT 5
"""


def as_text(vector):
    return "[" + ",".join(map(repr, vector)) + "]"


def main(connection, export, query=None):
    head = first(export)
    if head is None:
        sys.exit(f"{export} has no moments")
    with psycopg.connect(connection) as db:
        db.execute(CREATE % len(head["vector"]))
        with db.cursor().copy("COPY arrived FROM STDIN") as copy:
            for batch in moments(export):
                for m in batch:
                    row = (m["id"], m["path"], m["start_s"], m["end_s"], m["sha256"])
                    copy.write_row((*row, as_text(m["vector"])))
        db.execute(MERGE)
        rows = db.execute("SELECT count(*) FROM moments").fetchone()[0]
        print(f"{rows} moments in the table moments", file=sys.stderr)
        if query is not None:
            vector = as_text(text_vector(query))
            show(db.execute(SEARCH, (vector, vector)))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
