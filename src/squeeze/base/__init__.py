"""The classes that methods derive from; each leaves one method (or a pair) to write."""

from squeeze.base.compressor import Compressor, Draft, Job, whole
from squeeze.base.lossless import Coded, Lossless
from squeeze.base.selector import ByScorer, Selector
from squeeze.base.soft import SoftEncoder

__all__ = ["ByScorer", "Coded", "Compressor", "Draft", "Job", "Lossless", "Selector", "SoftEncoder", "whole"]
