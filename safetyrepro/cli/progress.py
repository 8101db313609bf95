"""Progress of a run on standard error: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from safetyrepro.cli.console import is_live, say_error, stderr

_LINE_EVERY_S = 15.0


class RunProgress:
    """Items, tokens a second and the time left, counted on the shards that were really computed."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._shards = self._done = self._items = self._tokens = self._reused = 0
        self._seconds = 0.0
        self._last_line = 0.0

    def start(self, *, shards: int, done: int) -> None:
        self._shards, self._done = shards, done
        if is_live():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TextColumn("shards  {task.fields[rate]}"),
                TimeRemainingColumn(),
                console=stderr(),
                transient=True,
            )
            self._bar.add_task("scoring", total=shards, completed=done, rate="")
            self._bar.start()

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=text)
        else:
            say_error(text)

    def shard(self, *, pass_id: str, items: int, tokens: int, seconds: float, reused: bool) -> None:
        self._done += 1
        self._items += items
        self._reused += reused
        if not reused:
            self._tokens += tokens
            self._seconds += seconds
        rate = f"{self._tokens / self._seconds:.0f} tokens/s" if self._seconds else "stored"
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0], completed=self._done, rate=rate, description=f"scoring {pass_id}"
            )
        elif time.monotonic() - self._last_line > _LINE_EVERY_S or self._done == self._shards:
            self._last_line = time.monotonic()
            say_error(
                f"{self._done} of {self._shards} shards, {self._items} item passes, {rate}{self._left()}"
            )

    def finish(self) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar off the screen, whatever happened."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def kept(self) -> str:
        """What an interrupted run leaves behind."""
        return f"{self._done} of {self._shards} shards are complete and kept"

    def _left(self) -> str:
        computed = self._done - self._reused
        if not computed or self._done == self._shards:
            return ""
        left = self._seconds / computed * (self._shards - self._done)
        return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"
