"""The exit codes: the only thing a script learns from a run, so each has one meaning."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    CLEAN = 0
    FINDINGS = 1
    REFUSED = 2
    BUG = 3
    EXPIRED = 10
    NOT_YET_VALID = 11
    UNSIGNED = 12
    UNKNOWN_SIGNER = 13
    TAMPERED = 14
    MALFORMED = 15
    STALE = 16
    SUPERSEDED = 17
    REVOKED = 18
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS: dict[Exit, str] = {
    Exit.CLEAN: "done, nothing found (verify: current)",
    Exit.FINDINGS: "done, with findings",
    Exit.REFUSED: "input or usage refused",
    Exit.BUG: "a bug in this program",
    Exit.EXPIRED: "verify: expired",
    Exit.NOT_YET_VALID: "verify: not yet valid",
    Exit.UNSIGNED: "verify: unsigned",
    Exit.UNKNOWN_SIGNER: "verify: untrusted signer",
    Exit.TAMPERED: "verify: tampered",
    Exit.MALFORMED: "verify: not a report",
    Exit.STALE: "verify: stale",
    Exit.SUPERSEDED: "verify: superseded",
    Exit.REVOKED: "verify: revoked",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE_CLOSED: "the reader of the output went away",
}
