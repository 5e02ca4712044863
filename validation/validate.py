"""Compare narrows with ns-2, Linux and other laboratories; print a table each (`make validate`).

What is compared, and where the runs come from, is in validation/README.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lan
import linux
import ns2
import short
import tables
import testbeds

REFERENCES = {"ns2": ns2, "lan": lan, "linux": linux, "short": short, "testbeds": testbeds}


def main() -> None:
    """Run the cases and print the tables and summaries."""
    parser = argparse.ArgumentParser(
        prog="python validation/validate.py",
        description=__doc__,
        epilog="Example: python validation/validate.py linux --only 'cc=cubic n=4'",
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to compare with: {', '.join(REFERENCES)}; all unless given",
    )
    parser.add_argument(
        "--reference", type=Path, help="another file of the reference; with one part only"
    )
    parser.add_argument(
        "--only", help="run only cases whose description contains this, like 'sack n=1'"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    form.add_argument(
        "--write", action="store_true", help="write the tables into the pages of docs/"
    )
    options = parser.parse_args()
    parts = options.parts or list(REFERENCES)
    for part in parts:
        if part not in REFERENCES:
            parser.error(f'unknown part "{part}"; known: {", ".join(REFERENCES)}')
    if options.reference and len(parts) != 1:
        parser.error(f"--reference needs one of the parts {', '.join(REFERENCES)}")
    if options.write and (options.only or options.reference):
        parser.error("--write is for whole tables; drop --only and --reference")
    found = []
    for part in parts:
        module = REFERENCES[part]
        sections = module.sections(options.reference or module.REFERENCE, options.only)
        for section in sections:
            if options.markdown:
                print(section.markdown() + "\n")
            else:
                section.show()
        found += sections
    if not found:
        parser.error(f"no case of {', '.join(parts)} contains {options.only!r}")
    if options.write:
        tables.write(found)


if __name__ == "__main__":
    main()
