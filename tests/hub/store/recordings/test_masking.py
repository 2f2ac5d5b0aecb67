"""Secrets masked in a stream, however it is cut into pieces."""

from __future__ import annotations

import random

import pytest

from cloche_hub.domain.masking import Secrets
from cloche_hub.store.recordings.masking import Masker

SECRETS = (b"hunter2!", b"tok_abcabd", "pässwörd".encode())


def masked(data: bytes, *secrets: bytes, pieces: int = 1) -> bytes:
    """The stream in pieces of so many bytes, and its end."""
    masker = Masker(secrets)
    out = [masker.feed(data[start : start + pieces]) for start in range(0, len(data), pieces)]
    return b"".join([*out, masker.end()])


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_stars_wherever_it_is_cut(secret: bytes, pieces: int) -> None:
    data = b"$ echo " + secret + b"\r\n" + secret + secret + b"."
    stars = b"*" * len(secret)
    assert masked(data, *SECRETS, pieces=pieces) == b"$ echo " + stars + b"\r\n" + stars + stars + b"."


@pytest.mark.parametrize("cut", range(len(SECRETS[0]) + 1))
def test_nothing_of_a_secret_that_has_begun_is_given_out(cut: int) -> None:
    masker = Masker(SECRETS)
    secret = SECRETS[0]
    first = masker.feed(b"x" + secret[:cut])
    assert first + masker.feed(secret[cut:] + b"y") + masker.end() == b"x" + b"*" * len(secret) + b"y"
    assert first == (b"x" if cut < len(secret) else b"x" + b"*" * len(secret))


def test_what_only_began_like_a_secret_is_given_out_as_it_was() -> None:
    masker = Masker(SECRETS)
    assert (masker.feed(b"a hunt"), masker.held) == (b"a ", 4)
    assert (masker.feed(b"er3 t"), masker.held) == (b"hunter3 ", 1)
    assert (masker.end(), masker.held) == (b"t", 0)
    assert masker.feed(b"unter2!") + masker.end() == b"unter2!"


def test_a_beginning_within_a_beginning_is_found() -> None:
    for pieces in range(1, 12):
        assert masked(b"tok_abctok_abcabd", b"tok_abcabd", pieces=pieces) == b"tok_abc**********"
        assert masked(b"ababac", b"abac", pieces=pieces) == b"ab****"


@pytest.mark.parametrize("pieces", [1, 2, 3, 100])
def test_secrets_that_overlap_are_all_masked(pieces: int) -> None:
    assert masked(b"<abcdefgh>", b"abcdef", b"cdefgh", pieces=pieces) == b"<********>"
    assert masked(b"<abababa>", b"abab", pieces=pieces) == b"<******a>"
    assert masked(b"<abcdefgh>", b"abcdefgh", b"cdef", pieces=pieces) == b"<********>"
    assert masked(b"<abcdefgX>", b"abcdefgh", b"cdef", pieces=pieces) == b"<ab****gX>"


@pytest.mark.parametrize("pieces", [1, 4, 100])
def test_a_secret_of_several_lines_is_masked_as_a_terminal_shows_it(pieces: int) -> None:
    secret = Secrets({"KEY": "-----BEGIN\nabc\n-----END\n"}).hidden
    data = b"$ cat k\r\n-----BEGIN\r\nabc\r\n-----END\r\n$"
    assert masked(data, *secret, pieces=pieces) == b"$ cat k\r\n%b$" % (b"*" * 27)
    assert masked(b"-----BEGIN\nabc\n-----END", *secret, pieces=pieces) == b"*" * 23


def test_nothing_is_no_secret() -> None:
    assert masked(b"anything", b"") == b"anything"


def test_without_secrets_everything_passes_as_it_is() -> None:
    masker = Masker(())
    data = b"anything"
    assert masker.feed(data) is data
    assert masker.end() == b""


def test_a_text_is_masked_by_itself() -> None:
    assert Masker(SECRETS).mask("run --key=hunter2! ä") == "run --key=******** ä"
    assert Masker(SECRETS).mask("pässwörd") == "*" * 10


def test_a_random_stream_is_masked_as_if_it_were_one_piece() -> None:
    dice = random.Random(4)
    secrets = (b"abab", b"abbaab", b"babb")
    for _ in range(300):
        data = bytes(dice.choice(b"ab ") for _ in range(40))
        whole = bytearray(data)
        for secret in secrets:
            for place in range(len(data)):
                if data.startswith(secret, place):
                    whole[place : place + len(secret)] = b"*" * len(secret)
        masker, out, place = Masker(secrets), b"", 0
        while place < len(data):
            step = dice.randint(1, 7)
            out += masker.feed(data[place : place + step])
            place += step
            assert len(out) + masker.held == min(place, len(data))
        assert out + masker.end() == bytes(whole)
