"""`safetyrepro supersede`: say which report replaces which."""

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
from safetyrepro.report.notices import append_notice, report_documents, supersession


def command(
    old: Annotated[Path, typer.Argument(help="The report that is replaced: a PDF, a page or a bundle.")],
    new: Annotated[Path, typer.Argument(help="The report that replaces it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for its readers.")],
    notices: Annotated[
        Path, typer.Option("--notices", help="The file of notices to append to; publish it.")
    ] = Path("notices.jsonl"),
    role: Annotated[str, typer.Option("--role", help="As what you sign.")] = "author",
    key: KeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_fd: PassphraseFdOption = None,
    issued_at: IssuedAtOption = None,
) -> None:
    """Replace a report by another: append a signed notice to a file that you publish.

    Whoever verifies the old report with the file (`verify --notices`) and trusts you is told SUPERSEDED,
    and by which report.

    Example: safetyrepro supersede old.pdf new.pdf --reason "Scored again with the corrected items."
    """
    before, after = report_documents(old), report_documents(new)
    signing = read_signing(key, role=role, file=passphrase_file, descriptor=passphrase_fd)
    made = supersession(
        before.files,
        after.files,
        reports=(before.report.id, after.report.id),
        reason=reason,
        issued_at=read_issued_at(issued_at),
        signing=signing,
    )
    append_notice(notices, made)
    who = signing.identity.principal
    say_error(f"{before.report.id} is replaced by {after.report.id}, signed by {who}; publish the file")
    say(str(notices))
