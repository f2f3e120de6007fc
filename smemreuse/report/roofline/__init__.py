"""Advice as a self-contained page: the roofline, and the worksheet below it."""

from smemreuse.extras import needing

with needing("report", "plotly"):
    import plotly  # noqa: F401

from smemreuse.report.roofline.page import roofline_page

__all__ = ["roofline_page"]
