"""Secrets in what a guest shows, masked byte by byte, also where pieces cut them apart.

Pure. Which bytes a secret is, in each form that it is known in, `domain.masking` says. What may be the beginning of one
is held back until what follows tells, or until `end`.

Masked is a secret that is shown in one piece: its bytes, one after another, in however many pieces they come.

Not masked is a secret that is shown otherwise: encoded (base64, quoted, reversed), with escape sequences in it (colours,
cursor movements), or broken where a program or a library that wraps lines breaks them. A terminal's own wrapping sends
nothing, so it breaks nothing; an editor or a shell that wraps by itself does. This is a guard against accidents, and
none against a guest that wants its secrets in a recording.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK = b"*"


class Masker:
    """Masks one stream of bytes.

    Args:
        secrets: the bytes that must not be found, each form by itself.
    """

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = [secret for secret in secrets if secret]
        self._longest = max(map(len, self._secrets), default=0)
        self._raw = b""
        # The same bytes, with what is known to be a part of a secret masked already.
        self._masked = b""

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return len(self._raw)

    def feed(self, data: bytes) -> bytes:
        """What is known now to be in no secret that has only begun, with secrets masked.

        Args:
            data: what is shown next.

        Returns:
            As many bytes as were held back and given, but those that are now held back.
        """
        if not self._secrets:
            return data
        raw = self._raw + data
        masked = self._hide(raw, self._masked + data)
        keep = self._begun(raw)
        cut = len(raw) - keep
        self._raw, self._masked = raw[cut:], masked[cut:]
        return masked[:cut]

    def end(self) -> bytes:
        """What was held back: nothing follows that would make it a secret."""
        masked, self._raw, self._masked = self._masked, b"", b""
        return masked

    def mask(self, text: str) -> str:
        """A text that stands by itself, masked."""
        raw = text.encode(errors="replace")
        return self._hide(raw, raw).decode(errors="replace")

    def _hide(self, raw: bytes, masked: bytes) -> bytes:
        hidden = None
        for secret in self._secrets:
            place = raw.find(secret)
            while place >= 0:
                hidden = hidden or bytearray(masked)
                hidden[place : place + len(secret)] = _MASK * len(secret)
                # From the next byte on: secrets may overlap, also with themselves.
                place = raw.find(secret, place + 1)
        return masked if hidden is None else bytes(hidden)

    def _begun(self, raw: bytes) -> int:
        """How many bytes at the end may be the beginning of a secret."""
        tail = raw[-(self._longest - 1) :]
        most = 0
        for secret in self._secrets:
            # The first place is the longest beginning; none is longer than one found already needs to be.
            place = tail.find(secret[0], max(0, len(tail) - len(secret) + 1))
            while 0 <= place < len(tail) - most:
                if secret.startswith(tail[place:]):
                    most = len(tail) - place
                place = tail.find(secret[0], place + 1)
        return most
