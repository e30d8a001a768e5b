"""The encoded rows of a part, one by one: see the layout in src/preprocess/segments.rs."""

import json
import struct

import numpy as np

LANES = 32
START, END = 64, 32


def rows_of(packed: bytes) -> list[bytes]:
    """What each row is encoded as: numbers, codes and label, or nothing where it is no record."""
    (size,) = struct.unpack_from("<Q", packed, len(packed) - END)
    footer = json.loads(packed[len(packed) - END - size : len(packed) - END])
    numeric, categorical = footer["numeric"], len(footer["levels"])
    rows, at = [], START
    tiles = -(-footer["rows"] // LANES)
    while tiles > 0:
        here = min(tiles, footer["tiles_per_segment"])
        tiles -= here
        parts = []
        for width, kind in ((numeric, "i2"), (categorical, "u2"), (1, "i2")):
            part = np.frombuffer(packed, kind, here * width * LANES, at).reshape(here, width, LANES)
            at += part.nbytes
            parts.append(part.transpose(0, 2, 1).reshape(here * LANES, width).astype("<i4"))
        present = np.frombuffer(packed, "u4", here, at)
        at += present.nbytes
        known = (present[:, None] >> np.arange(LANES) & 1).reshape(-1)
        whole = np.hstack(parts)
        rows.extend(row.tobytes() if there else b"" for row, there in zip(whole, known))
    return rows[: footer["rows"]]
