"""The header of a safetensors file: its length in eight bytes, then JSON."""

import json


def with_sorted_header(data: bytes) -> bytes:
    """Return the same file with a sorted header, because safetensors writes metadata unordered.

    The metadata must be ASCII.
    """
    end = _end(data)
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":"))
    return data[:8] + header.encode("ascii").ljust(end - 8) + data[end:]


def read_metadata(data: bytes) -> dict[str, str]:
    """Return the metadata of a file; raises ValueError or KeyError if there is none."""
    metadata = json.loads(data[8 : _end(data)])["__metadata__"]
    return {str(key): str(value) for key, value in metadata.items()}


def _end(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")
