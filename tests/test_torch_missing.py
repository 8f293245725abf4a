"""Without PyTorch, `auclid.torch` says what to install, and nothing else changes."""

import subprocess
import sys

CODE = """
import sys

sys.modules["torch"] = None
import auclid

try:
    auclid.torch
except ModuleNotFoundError as error:
    print(error)
print("torch" in dir(auclid))
"""


def test_an_import_without_pytorch_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    said = "auclid.torch needs PyTorch, which is not installed: pip install 'auclid[torch]'."
    assert done.stdout.splitlines() == [said, "False"]
