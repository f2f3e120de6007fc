"""The interactive report: one self-contained page."""

from smemreuse.report.page.page import report_page

__all__ = ["report_page"]
