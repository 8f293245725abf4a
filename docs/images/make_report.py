"""Makes docs/images/report.png: what `make demo` leaves, seen by a headless chromium.

`python docs/images/make_report.py`; needs chromium and Pillow, which matplotlib brings.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

SIZE = (1000, 575)
"""The verdict, without the tables below it."""

chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if chromium is None:
    sys.exit("chromium must be installed to take the picture; none was found.")
with tempfile.TemporaryDirectory() as folder:
    page, image = Path(folder, "report.html"), Path(folder, "report.png")
    # The demo's environment has no LightGBM.
    demo = "import sys; sys.modules['lightgbm'] = None; from auclid.cli import main; main()"
    subprocess.run([sys.executable, "-c", demo, "compare", "--output", str(page)], check=True)
    browser = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    browser += [f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={image}"]
    subprocess.run([*browser, page.as_uri()], check=True, capture_output=True, timeout=120)
    seen = Image.open(image).convert("RGB").quantize(64, dither=Image.Dither.NONE)
seen.save(Path(__file__).with_name("report.png"), optimize=True)
