"""Packed weights kept in the user's cache folder, so that the next start need not pack them.

A file is named after the SHA-256 of the weights that were packed. Files that are damaged, or that
another user may have written, are not used.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import NmtError
from nmt_cli.inference.native.packing import packed_file
from nmt_cli.inference.native.packing.packed_file import Content, DamagedFileError
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.weights import TransformerArrays
from nmt_cli.storage import files, user_cache

# Fewer bytes are packed as fast as they are read.
SMALLEST = 16 << 20
# When a file is written, older ones are removed until all together have at most so many bytes.
MOST = 4 << 30
# Threads of one process would write under the same temporary name.
_WRITING = threading.Lock()


class PackedCache:
    """The packed weights of one model: read in a thread while the model is checked, or written.

    notice: what the user should know, else empty.
    """

    def __init__(self, folder: Path, precision: str) -> None:
        """folder: a folder of this user; precision: one of `linear.PRECISIONS`."""
        self.notice = ""
        self._folder, self._precision = folder, precision
        self._path = folder
        self._reading: Future[Content] | None = None

    def has(self, digest: str) -> bool:
        """Whether there is a file of what was packed from weights with this SHA-256."""
        return self._path_of(digest).is_file()

    def begin(self, digest: str) -> bool:
        """Begin to read what was packed from weights with this SHA-256; False if there is nothing.

        A file that another user may have written counts as nothing, and will be replaced.
        """
        self._path = self._path_of(digest)
        self._reading, self.notice = None, ""
        try:
            if not self._path.is_file():
                return False
            reason = user_cache.untrusted_folder(self._folder)
            reason = reason or user_cache.untrusted(self._path)
            if reason:
                self.notice = f"packed weights in the cache are not used: {reason}"
                return False
        except OSError:
            return False
        executor = ThreadPoolExecutor(1)
        self._reading = executor.submit(packed_file.read, self._path, digest)
        # Its thread ends when the file is read; nobody waits for it before `weights`.
        executor.shutdown(wait=False)
        return True

    def weights(self, config: ModelConfig) -> PackedWeights | None:
        """What `begin` began to read; None where there is nothing, or the file is damaged."""
        if self._reading is None:
            return None
        try:
            linears, arrays, stored = self._reading.result()
        except (DamagedFileError, OSError) as error:
            self.notice = f"`{self._path}` is not used and will be written again: {error}"
            return None
        return PackedWeights(TransformerArrays(config, arrays), linears, self._precision, stored)

    def keep(self, digest: str, weights: PackedWeights) -> PackedWeights:
        """Write the weights for the next time, if they are large; `notice` tells if that fails.

        Returns the same weights, of which large embeddings stay in what was written.
        """
        self._path = self._path_of(digest)
        if packed_file.bytes_of(weights) < SMALLEST:
            return weights
        try:
            user_cache.make_folder(self._folder)
            if reason := user_cache.untrusted_folder(self._folder):
                self.notice = f"packed weights are not kept, so starts take longer: {reason}"
                return weights
            with _WRITING:
                files.remove_abandoned(self._path)
                with user_cache.writing(self._path) as file:
                    packed_file.write(file, digest, weights)
                self._remove_oldest()
                return packed_file.with_stored(self._path, digest, weights)
        except (NmtError, OSError, DamagedFileError) as error:
            reason = error.message if isinstance(error, NmtError) else str(error)
            self.notice = f"packed weights cannot be kept, so starts take longer: {reason}"
            return weights

    def _path_of(self, digest: str) -> Path:
        return self._folder / f"packed-{digest[:32]}-{self._precision}.bin"

    def _remove_oldest(self) -> None:
        entries = [(path.stat(), path) for path in self._folder.glob("packed-*.bin")]
        entries.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
        total = 0
        for status, path in entries:
            total += status.st_size
            if total > MOST and path != self._path:
                files.remove(path)
