"""A page in a real browser, for tests: what it has drawn when it has come to rest."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def drawn(page: str, folder: Path, *, script: str = "") -> str:
    """The DOM after the page has drawn itself and then run `script`; without the invisible signs that isolate texts."""
    file = folder / "report.html"
    before, end, after = page.rpartition("</body>")
    file.write_text(f"{before}<script>{script}</script>{end}{after}", encoding="utf-8")
    assert BROWSER is not None
    quiet = ["--disable-background-networking", "--no-first-run", "--disable-sync"]
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", *quiet]
    command = [BROWSER, *options, f"--user-data-dir={folder / 'profile'}", "--window-size=1200,1600", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=60, check=True)
    return re.sub("[\u2068\u2069]", "", done.stdout)


def without_scripts(dom: str) -> str:
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", dom, flags=re.S)


def widths_on_a_phone(page: str, folder: Path, *, part: str = "body") -> tuple[int, int, int]:
    """The widths of the view, of what it scrolls and of the narrowest `part`, in a frame of a phone's width.

    (The browser's own window cannot be that narrow.)
    """
    frame = f'<body><iframe width="390" height="800" style="border:0" srcdoc="{escape(page)}"></iframe></body>'
    script = """
      const frame = document.querySelector("iframe");
      frame.onload = () => {
        const all = frame.contentDocument.documentElement;
        const parts = [...frame.contentDocument.querySelectorAll(PART)].map((one) => one.scrollWidth);
        document.body.dataset.widths = [all.clientWidth, all.scrollWidth, Math.min(...parts)];
      };
    """
    script = script.replace("PART", repr(part))
    found = re.search(r'data-widths="(\d+),(\d+),(\d+)"', drawn(frame, folder, script=script))
    assert found
    client, scroll, narrowest = map(int, found.groups())
    return client, scroll, narrowest
