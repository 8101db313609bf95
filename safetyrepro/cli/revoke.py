"""`safetyrepro revoke`: take a report back, or say that its items leaked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safetyrepro.cli.console import say, say_error
from safetyrepro.cli.signing import (
    IssuedAtOption,
    KeyOption,
    PassphraseFdOption,
    PassphraseFileOption,
    read_issued_at,
    read_signing,
)
from safetyrepro.report.notices import append_notice, contamination, report_documents, revocation


def command(
    report: Annotated[Path, typer.Argument(help="The report: a PDF, an HTML page or a bundle.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for its readers.")],
    notices: Annotated[
        Path, typer.Option("--notices", help="The file of notices to append to; publish it.")
    ] = Path("notices.jsonl"),
    items: Annotated[
        bool,
        typer.Option(
            "--items", help="Not the report: its items are contaminated, and every report on them is stale."
        ),
    ] = False,
    role: Annotated[str, typer.Option("--role", help="As what you sign.")] = "author",
    key: KeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_fd: PassphraseFdOption = None,
    issued_at: IssuedAtOption = None,
) -> None:
    """Take a report back: append a signed notice to a file that you publish.

    Whoever verifies the report with the file (`verify --notices`) and trusts you is told REVOKED. The
    notice counts when a signer of the report signed it, with whichever key. With --items it says instead
    that the report's items were seen in training: a report that names that trigger is STALE.

    Example: safetyrepro revoke report.pdf --reason "Two models were swapped." --notices notices.jsonl
    """
    documents = report_documents(report)
    signing = read_signing(key, role=role, file=passphrase_file, descriptor=passphrase_fd)
    moment = read_issued_at(issued_at)
    if items:
        made = contamination(
            documents.items_digest(),
            name=documents.items_name(),
            reason=reason,
            issued_at=moment,
            signing=signing,
        )
        said = f"the items of {documents.report.id} are said to be contaminated"
    else:
        made = revocation(
            documents.files, report=documents.report.id, reason=reason, issued_at=moment, signing=signing
        )
        said = f"{documents.report.id} is taken back"
    append_notice(notices, made)
    say_error(f"{said}, signed by {signing.identity.principal}; publish the file beside the report")
    say(str(notices))
