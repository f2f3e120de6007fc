"""The worksheet for who has no kernel yet: from a problem's sizes to tiles, by formulas alone."""

from smemreuse.advisor.worksheet.advise import advise, table
from smemreuse.advisor.worksheet.attention import Attention
from smemreuse.advisor.worksheet.convolution import Convolution
from smemreuse.advisor.worksheet.decode import Decode
from smemreuse.advisor.worksheet.elementwise import Elementwise
from smemreuse.advisor.worksheet.gemm import Gemm
from smemreuse.advisor.worksheet.reduction import Reduction
from smemreuse.advisor.worksheet.work import Problem, Work

__all__ = [
    "Attention",
    "Convolution",
    "Decode",
    "Elementwise",
    "Gemm",
    "Problem",
    "Reduction",
    "Work",
    "advise",
    "table",
]
