"""A token bucket."""

from __future__ import annotations

from cloche_hub.domain.bucket import Bucket


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(bucket: Bucket, tries: int) -> int:
    return sum(bucket.take() for _ in range(tries))


def test_so_many_go_at_once_and_then_so_many_a_second() -> None:
    seconds = Seconds()
    bucket = Bucket(burst=5, per_s=2, now=seconds)
    assert taken(bucket, 9) == 5
    seconds.now += 1
    assert taken(bucket, 9) == 2
    seconds.now += 0.4
    assert taken(bucket, 9) == 0
    seconds.now += 0.1
    assert taken(bucket, 9) == 1


def test_it_holds_no_more_than_a_burst_however_long_it_rests() -> None:
    seconds = Seconds()
    bucket = Bucket(burst=5, per_s=2, now=seconds)
    seconds.now += 1000
    assert taken(bucket, 9) == 5


def test_it_is_full_in_the_beginning_and_once_it_has_rested() -> None:
    seconds = Seconds()
    bucket = Bucket(burst=5, per_s=2, now=seconds)
    seen = [bucket.is_full]
    bucket.take()
    seen.append(bucket.is_full)
    seconds.now += 0.5
    seen.append(bucket.is_full)
    assert seen == [True, False, True]


def test_what_is_refused_takes_nothing() -> None:
    seconds = Seconds()
    bucket = Bucket(burst=1, per_s=1, now=seconds)
    assert taken(bucket, 100) == 1
    seconds.now += 1
    assert bucket.take()
