"""Pictures of a report's pages, for README and the documentation.

Run after `make demo`, from the repository's root:

    python docs/make_pictures.py runs/<bundle>/report/report.pdf

It needs poppler's `pdftoppm`. The first pages become `docs/report-page-N.png`; older pictures are removed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
DOTS_PER_INCH = 96


def make_pictures(pdf: Path, *, pages: int, folder: Path = DOCS) -> list[Path]:
    """Write the first `pages` pages of `pdf` as PNG into `folder` and return their paths, in order."""
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(
            ["pdftoppm", "-r", str(DOTS_PER_INCH), "-l", str(pages), "-png", str(pdf), f"{temporary}/page"],
            check=True,
        )
        made = sorted(Path(temporary).glob("page-*.png"))
        for stale in folder.glob("report-page-*.png"):
            stale.unlink()
        pictures = [folder / f"report-page-{number}.png" for number in range(1, len(made) + 1)]
        for source, picture in zip(made, pictures, strict=True):
            shutil.copyfile(source, picture)
    return pictures


def main() -> None:
    """Parse the command line, make the pictures, and say where they are."""
    parser = argparse.ArgumentParser(description="Pictures of a report's pages for README and docs.")
    parser.add_argument("pdf", type=Path, help="a report.pdf")
    parser.add_argument("--pages", type=int, default=4, help="how many pages, from the first (default 4)")
    given = parser.parse_args()
    if not given.pdf.is_file():
        sys.exit(f"{given.pdf}: must be a PDF file; there is none")
    if shutil.which("pdftoppm") is None:
        sys.exit("pdftoppm: must be installed (Debian: poppler-utils)")
    for picture in make_pictures(given.pdf, pages=given.pages):
        sys.stdout.write(f"{picture}\n")


if __name__ == "__main__":
    main()
