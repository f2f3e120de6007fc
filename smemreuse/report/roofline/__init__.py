"""Advice as a self-contained page: the roofline, and the worksheet below it."""

from smemreuse.report.roofline.page import roofline_page

__all__ = ["roofline_page"]
