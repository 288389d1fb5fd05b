"""Images as tokens: patches, each a vector with a place in a grid.

Shapes: B images, C channels, P patches, D width.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Pair = tuple[int, int]  # of rows and columns: height and width


def grid_of(size: Pair, patch: Pair) -> Pair:
    """Number of whole patches of an image, down and across."""
    return size[0] // patch[0], size[1] // patch[1]


def cut_patches(images: Tensor, patch: Pair) -> Tensor:
    """(B, C, height, width) -> (B, P, C * patch height * patch width), row by row; incomplete patches are left out."""
    down, across = grid_of((images.size(2), images.size(3)), patch)
    whole = images[:, :, : down * patch[0], : across * patch[1]]
    squares = whole.unflatten(3, (across, patch[1])).unflatten(2, (down, patch[0]))  # (B, C, down, ph, across, pw)
    return squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class GridPositions(nn.Module):
    """One learned vector for each place of a grid, and for `others` tokens before it.

    For another grid the vectors are interpolated (bicubic).
    """

    def __init__(self, grid: Pair, width: int, *, others: int = 1) -> None:
        super().__init__()
        self.grid, self.others = grid, others
        self.weight = nn.Parameter(torch.empty(others + grid[0] * grid[1], width))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, grid: Pair) -> Tensor:
        """(others + P, D) of a grid."""
        if grid == self.grid:
            return self.weight
        others, places = self.weight.split([self.others, len(self.weight) - self.others])
        image = places.unflatten(0, self.grid).permute(2, 0, 1)[None]  # (1, D, down, across)
        resized = F.interpolate(image, size=grid, mode="bicubic", align_corners=False)
        return torch.cat([others, resized[0].flatten(1).mT])
