"""The interactive report, one self-contained page; and a plan's map alone, without any script."""

from smemreuse.report.page.hazards import with_hazards
from smemreuse.report.page.maps import map_fragment
from smemreuse.report.page.page import report_page, suite_page

__all__ = ["map_fragment", "report_page", "suite_page", "with_hazards"]
