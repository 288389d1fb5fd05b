"""Memory in large pages, for weights that are read through from end to end again and again.

Where a number stands is looked up page by page, and pages of 4 KB are more than a processor remembers of the weights of
a model: with pages of 2 MB a step of decoding took 3 to 14% less time. Systems that have none give ordinary memory.
"""

from __future__ import annotations

import mmap
from contextlib import suppress

import torch
from torch import Tensor

LARGE = 2 << 20  # bytes
ROOM = 64 << 20  # asked for at a time; what is not used costs nothing
LINE = 16  # numbers: where a part may begin


class Pages:
    """Gives out parts of large pages. They live as long as someone holds a part."""

    def __init__(self) -> None:
        self.room = torch.empty(0)
        self.used = 0

    def take(self, count: int) -> Tensor:
        """So many numbers in a row, not filled, in float32."""
        if self.used + count > len(self.room):
            self.room, self.used = room_of(count), 0
        part = self.room[self.used : self.used + count]
        self.used += -(-count // LINE) * LINE
        return part


def room_of(count: int) -> Tensor:
    """At least so many numbers, from the beginning of a large page on."""
    size = max(ROOM, 4 * count) + LARGE
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.empty(size // 4, dtype=torch.float32)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel may be built without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    numbers = torch.frombuffer(memory, dtype=torch.float32)
    return numbers[-numbers.data_ptr() % LARGE // 4 :]
