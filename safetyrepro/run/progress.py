"""What a long run tells its caller while it works; the engine itself prints nothing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what happens, in order."""

    def start(self, *, shards: int, done: int) -> None:
        """The run begins with this many shards, of which `done` are already there."""

    def note(self, text: str) -> None:
        """Something worth a line: a model is loading, a self-check has passed."""

    def shard(self, *, pass_id: str, items: int, tokens: int, seconds: float, reused: bool) -> None:
        """A shard is complete."""

    def finish(self) -> None:
        """All shards are complete."""


class Silent:
    """Tells nobody."""

    def start(self, *, shards: int, done: int) -> None:
        return

    def note(self, text: str) -> None:
        return

    def shard(self, *, pass_id: str, items: int, tokens: int, seconds: float, reused: bool) -> None:
        return

    def finish(self) -> None:
        return
