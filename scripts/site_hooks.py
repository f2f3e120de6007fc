"""What MkDocs does to pages beside rendering them (`mkdocs.yml` names this file).

Pages are read in the repository, too, and link to its files. The site has no such files: there a
link that leaves `docs`, or leads to a folder, is the path as text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)")
_COMMENT = re.compile(r"^<!-- (needs|not run): .*? -->\n", re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page's text, with links that leave the site as text."""
    folder = posixpath.dirname(page.file.src_uri)

    def shown(link: re.Match[str]) -> str:
        text, target = link.groups()
        path = posixpath.normpath(posixpath.join("docs", folder, target.partition("#")[0]))
        if path.startswith("docs/") and not Path(path).is_dir():
            return link[0]
        return text if text.strip("`") == path else f"{text} (`{path}`)"

    return _LINK.sub(shown, _COMMENT.sub("", markdown))
