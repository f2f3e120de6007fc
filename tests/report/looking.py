"""What a browser shows, measured: which texts cover each other, and how they stand out.

Measures are pixels; a contrast is WCAG's ratio of luminances, of which AA asks 4.5 for text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

AA = 4.5

_TEXTS = """
function texts() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility()) continue;
    if (parent.closest('script, style, noscript, option, .code')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
      for (let one = parent; one && one !== document.body; one = one.parentElement) {
        if (getComputedStyle(one).overflowX === 'visible') continue;
        const clip = one.getBoundingClientRect();
        [left, top] = [Math.max(left, clip.left), Math.max(top, clip.top)];
        [right, bottom] = [Math.min(right, clip.right), Math.min(bottom, clip.bottom)];
      }
      if (right - left > 1 && bottom - top > 1) {
        found.push({ text: node.textContent.trim(), node, parent, left, top, right, bottom });
      }
    }
  }
  return found;
}
"""

_OVERLAPS = (
    _TEXTS
    + """
const all = texts();
const found = [];
all.forEach((one, index) => {
  for (const other of all.slice(index + 1)) {
    if (one.node === other.node) continue; // a line of it, or the text that its ellipsis stands for
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const upwards = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (across > 1 && upwards > 4) found.push([one.text, other.text]);
  }
});
return found;
"""
)

_CONTRASTS = (
    _TEXTS
    + """
const canvas = document.createElement('canvas');
canvas.width = canvas.height = 1;
const brush = canvas.getContext('2d', { willReadFrequently: true });
function luminance(colours) {
  brush.fillStyle = 'white';
  for (const one of ['white', ...colours]) { brush.fillStyle = one; brush.fillRect(0, 0, 1, 1); }
  const parts = [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3).map((one) => one / 255);
  const linear = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = parts.map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const found = [];
for (const { text, parent } of texts()) {
  const behind = [];
  for (let one = parent; one; one = one.parentElement) {
    behind.unshift(getComputedStyle(one).backgroundColor);
  }
  const [under, over] = [luminance(behind), luminance([...behind, getComputedStyle(parent).color])];
  const ratio = (Math.max(under, over) + 0.05) / (Math.min(under, over) + 0.05);
  if (ratio < arguments[0]) found.push([text, ratio]);
}
return found;
"""
)


def overlaps(browser: Chrome) -> list[list[str]]:
    """Pairs of texts of which one covers another; what is scrolled away is not seen."""
    found: list[list[str]] = browser.execute_script(_OVERLAPS)
    return found


def faint(browser: Chrome) -> list[tuple[str, float]]:
    """Texts that stand out less than AA asks, with their contrast."""
    found: list[tuple[str, float]] = browser.execute_script(_CONTRASTS, AA)
    return found


def is_scrolled_sideways(browser: Chrome) -> bool:
    """Whether the page is wider than the window."""
    wide: int = browser.execute_script("return document.documentElement.scrollWidth")
    room: int = browser.execute_script("return document.documentElement.clientWidth")
    return wide > room


def resize(browser: Chrome, width: int, height: int = 900) -> None:
    """Makes the viewport so wide, which may be narrower than any window."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def theme(browser: Chrome, scheme: str) -> None:
    """What the system asks for, `light` or `dark`."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def until(browser: Chrome, condition: str) -> None:
    """Waits for a JavaScript condition to hold."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(f"return {condition}"))


def part(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element("css selector", selector)


def parts(browser: Chrome, selector: str) -> list[WebElement]:
    return browser.find_elements("css selector", selector)


def texts(browser: Chrome, selector: str) -> list[str]:
    return [one.text for one in parts(browser, selector)]
