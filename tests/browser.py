"""Pages in headless Chromium, where it is installed."""

import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed, so the page was not opened")


def browse(page, *options, width=1200, height=2400):
    """What Chromium prints of a page, with ``--dump-dom`` its elements; an error on the page's console fails."""
    usual = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]
    usual += [f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},{height}"]
    command = [CHROMIUM, *usual, *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout
