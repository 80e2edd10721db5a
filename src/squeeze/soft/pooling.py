"""How tokens are grouped before they are pooled: balanced groups whose number is rounded up."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def groups(tokens: int, factor: int) -> int:
    """Number of groups of a sequence: tokens / factor, rounded up; one group where there are fewer tokens than that."""
    return -(-tokens // factor)


def group_sizes(tokens: int, factor: int) -> list[int]:
    """Tokens in each group; sizes differ by one at most and the longer groups come first."""
    count = groups(tokens, factor)
    if count == 0:
        return []
    size, longer = divmod(tokens, count)
    return [size + 1] * longer + [size] * (count - longer)


def averaging(lengths: Sequence[int], factor: int, like: torch.Tensor) -> torch.Tensor:
    """The matrices that turn tokens into group means, (batch, groups, tokens); rows beyond a sequence's groups are 0.

    Args:
        lengths: tokens of each sequence; those of a batch stand at the left.
        factor: pooling factor.
        like: gives dtype, device and the number of tokens, (batch, tokens, width).
    """
    most = groups(max(lengths), factor)
    matrix = torch.zeros(len(lengths), most, like.shape[1], dtype=like.dtype)
    for row, length in enumerate(lengths):
        sizes = torch.tensor(group_sizes(length, factor))
        owner = torch.arange(len(sizes)).repeat_interleave(sizes)
        matrix[row, owner, torch.arange(length)] = (1 / sizes[owner]).to(matrix.dtype)
    return matrix.to(like.device)
