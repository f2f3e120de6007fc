"""The worksheet for who has no kernel yet: from a problem's sizes to tiles, by formulas alone."""

from smemreuse.worksheet.advise import advise, table
from smemreuse.worksheet.attention import Attention
from smemreuse.worksheet.convolution import Convolution
from smemreuse.worksheet.decode import Decode
from smemreuse.worksheet.elementwise import Elementwise
from smemreuse.worksheet.gemm import Gemm
from smemreuse.worksheet.reduction import Reduction
from smemreuse.worksheet.work import TileWork, Workload

__all__ = [
    "Attention",
    "Convolution",
    "Decode",
    "Elementwise",
    "Gemm",
    "Reduction",
    "TileWork",
    "Workload",
    "advise",
    "table",
]
