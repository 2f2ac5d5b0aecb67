"""The steps of a long work, on stderr: a moving line on a terminal, a line a step elsewhere.

Of a copy: bytes, rate and time left on a terminal, nothing elsewhere.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from cloche.cli.output import clean_line, say
from cloche.messages import Progress
from cloche.transfer import OnProgress


@contextlib.contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """A function that shows each step it is told; the line is gone again afterwards."""
    if sys.stderr.isatty():
        with _moving_line() as tell:
            yield tell
        return
    told: set[str] = set()

    def tell_once(progress: Progress) -> None:
        if progress.step not in told:
            told.add(progress.step)
            say(progress.message)

    yield tell_once


@contextlib.contextmanager
def shown_copy(*, quiet: bool) -> Iterator[OnProgress | None]:
    """A function that shows how far a copy is; None where nobody would see it. The line is gone again afterwards."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(20),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell(done: int, total: int, path: str) -> None:
            # What comes through a pipe has no size until its end.
            known = total if total > done else None
            bar.update(task, visible=True, total=known, completed=done, description=escape(clean_line(path)))

        yield tell


@contextlib.contextmanager
def _moving_line() -> Iterator[Callable[[Progress], None]]:
    # Most commands never get here, and it takes as long to import as everything else.
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell(progress: Progress) -> None:
            total = None if progress.fraction is None else 1.0
            bar.update(
                task,
                visible=True,
                total=total,
                completed=progress.fraction or 0,
                description=escape(clean_line(progress.message)),
            )

        yield tell
