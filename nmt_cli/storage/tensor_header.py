"""The header of a safetensors file: its length in eight bytes, then JSON."""

import json
from pathlib import Path

ALIGNMENT = 8
# No header of a model of nmt comes near this size.
MOST_BYTES = 16 << 20


def with_sorted_header(data: bytes) -> bytes:
    """Return the same file with a sorted header, because safetensors writes metadata unordered."""
    end = _end(data)
    entries = json.loads(data[8:end])
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    header = text.encode("utf-8")
    # As in safetensors, spaces at the end of the header align the tensors.
    header = header.ljust(-(-len(header) // ALIGNMENT) * ALIGNMENT)
    # A view, since the tensors of a large model take much memory.
    return b"".join([len(header).to_bytes(8, "little"), header, memoryview(data)[end:]])


def read_metadata(data: bytes) -> dict[str, str]:
    """Return the metadata of a file; raises ValueError or KeyError if there is none."""
    metadata = json.loads(data[8 : _end(data)])["__metadata__"]
    return {str(key): str(value) for key, value in metadata.items()}


def _end(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


def metadata_of_file(path: Path) -> dict[str, str]:
    """The metadata in the header of the file `path`; empty if it has none, or is damaged."""
    try:
        if not path.is_file():
            return {}
        with path.open("rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            if length > MOST_BYTES:
                return {}
            return read_metadata(start + file.read(length))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
