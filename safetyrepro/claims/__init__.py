"""What may be claimed: levels, formality, verdicts and their wording; pure functions, no I/O, no clock."""
