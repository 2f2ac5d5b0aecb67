"""The follower's end of a link: in step, cut, out of step, broken; what was under way and what goes on."""

from __future__ import annotations

import secrets

import pytest

from cloche_guest.link import Link
from cloche_guest.transport import Receiver
from cloche_wire.connection import Connection
from cloche_wire.errors import LinkLost, Undecodable
from cloche_wire.events import Accepted, Event, Failed, Greeted, Opened, Parted, Received
from cloche_wire.frames import Accept, encode
from cloche_wire.framing import NONCE_SIZE, Framing
from cloche_wire.limits import Limits

LIMITS = Limits(max_frame=400, max_message=1000, window=64, chunk=16)


class Wire:
    """A transport in memory: what the link writes lies here until the hub takes it, as far as there is room."""

    def __init__(self) -> None:
        self.room = 1 << 20
        self.written = bytearray()
        self.receiver: Receiver

    def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def write(self, data: memoryview) -> int:
        count = min(self.room, len(data))
        self.written += data[:count]
        self.room -= count
        return count


class Talk:
    """A link under test and a hub's side to talk to it."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.heard: list[Event] = []
        self.troubles: list[str] = []
        self.connection = Connection(leader=False, software="agent/1", limits=LIMITS)
        self.link = Link(
            self.wire, self.connection, on_event=self.heard.append, on_trouble=self.troubles.append
        )
        self.hub = Connection(leader=True, software="hub/1", session=bytes(16), limits=LIMITS)
        self.hub_framing = Framing(leader=True, max_message=LIMITS.max_message)
        self.hub_heard: list[Event] = []

    def greet(self) -> None:
        """A fresh sync and both hellos."""
        self.send(self.hub_framing.sync(secrets.token_bytes(NONCE_SIZE)))
        self.hub_takes()
        assert self.is_in_step()
        self.hub.link_up()
        self.settle()

    def is_in_step(self) -> bool:
        """Whether the hub has seen the echo of its sync."""
        return self.hub_framing.in_step

    def send(self, data: bytes) -> None:
        """Bytes from the hub, and what the link does at the end of the turn."""
        self.wire.receiver.received(data)
        self.link.flush()

    def hub_says(self) -> bytes:
        """What the hub has to say, as bytes of the stream."""
        said = b""
        while message := self.hub.data_to_send():
            said += self.hub_framing.wrap(message)
        return said

    def hub_takes(self) -> None:
        """The hub takes what was written."""
        data = bytes(self.wire.written)
        self.wire.written.clear()
        for message in self.hub_framing.feed(data)[0]:
            self.hub_heard += self.hub.feed(message)

    def settle(self) -> None:
        """Both talk until neither has anything to say."""
        while (said := self.hub_says()) or self.wire.written:
            if said:
                self.send(said)
            self.hub_takes()

    def open(self) -> int:
        """A channel that both sides have open."""
        number = self.hub.open("exec", {})
        self.settle()
        self.connection.accept(number)
        self.link.flush()
        self.hub_takes()
        return number


@pytest.fixture
def talk() -> Talk:
    one = Talk()
    one.greet()
    return one


def test_a_sync_is_echoed_and_hellos_are_exchanged(talk: Talk) -> None:
    assert talk.heard == [Greeted({}, "hub/1", resumed=False)]
    assert talk.hub_heard == [Greeted({}, "agent/1", resumed=False)]


def test_bytes_may_come_one_by_one() -> None:
    talk = Talk()
    for byte in talk.hub_framing.sync(bytes(NONCE_SIZE)):
        talk.send(bytes([byte]))
    talk.hub_takes()
    talk.hub.link_up()
    for byte in talk.hub_says():
        talk.send(bytes([byte]))
    assert talk.heard == [Greeted({}, "hub/1", resumed=False)]


def test_a_full_transport_is_written_on_when_there_is_room(talk: Talk) -> None:
    number = talk.open()
    talk.wire.room = 5
    talk.connection.send(number, 1, b"0123456789")
    talk.link.flush()
    assert len(talk.wire.written) == 5
    talk.link.flush()
    assert len(talk.wire.written) == 5
    talk.wire.room = 1000
    talk.wire.receiver.writable()
    talk.hub_takes()
    assert talk.hub_heard[-1] == Received(number, 1, b"0123456789")


def test_what_was_half_written_before_a_sync_is_dropped_and_sent_again_whole(talk: Talk) -> None:
    number = talk.open()
    talk.wire.room = 7
    talk.connection.send(number, 1, b"0123456789")
    talk.link.flush()
    # The hub is gone and comes back without the port ever having told us.
    talk.hub.link_down()
    talk.wire.written.clear()
    talk.wire.room = 1 << 20
    talk.send(talk.hub_framing.sync(bytes(NONCE_SIZE)))
    assert talk.wire.written[4:].startswith(b"cloche-sync!")
    talk.greet()
    assert talk.hub_heard[-1] == Received(number, 1, b"0123456789")
    assert talk.connection.is_up


def test_a_link_that_was_cut_resumes_without_loss_or_repetition(talk: Talk) -> None:
    number = talk.open()
    arrived = b""
    for round_ in range(4):
        talk.connection.send(number, 1, b"%d" % round_ * 10)
        talk.link.flush()
        # A part of what was written is lost, in the middle of a message.
        del talk.wire.written[-7:]
        talk.hub_takes()
        talk.hub.link_down()
        talk.wire.receiver.gone()
        talk.greet()
        arrived = b"".join(event.data for event in talk.hub_heard if isinstance(event, Received))
        talk.hub.consume(number, 1, 10)
    assert arrived == b"0" * 10 + b"1" * 10 + b"2" * 10 + b"3" * 10


def test_half_a_message_does_not_stand_in_the_way_of_the_next_hub(talk: Talk) -> None:
    talk.hub.open("exec", {"argv": ["x" * 100]})
    talk.send(talk.hub_says()[:50])
    talk.hub.link_down()
    talk.wire.receiver.gone()
    # The port has told that the far end went, so the first sync is enough.
    talk.greet()
    assert [event.kind for event in talk.heard if isinstance(event, Opened)] == ["exec"]


def test_nothing_is_written_while_the_far_end_is_away(talk: Talk) -> None:
    number = talk.open()
    talk.wire.receiver.gone()
    talk.connection.send(number, 1, b"0123456789")
    talk.link.flush()
    assert not talk.wire.written


def test_bytes_out_of_step_cost_the_link_and_not_the_session(talk: Talk) -> None:
    number = talk.open()
    talk.send(b"\x00garbage that is no header")
    assert not talk.connection.is_up
    assert talk.troubles == []
    talk.hub.link_down()
    talk.greet()
    assert talk.hub_heard[-1] == Greeted({}, "agent/1", resumed=True)
    assert number in talk.connection.channels


def test_a_message_that_is_no_frames_costs_the_link_and_not_the_session(talk: Talk) -> None:
    number = talk.open()
    talk.send(talk.hub_framing.wrap(b"\xff\xff"))
    assert not talk.connection.is_up
    talk.hub.link_down()
    talk.greet()
    assert number in talk.connection.channels


def test_a_message_cut_short_swallows_a_sync_and_the_filler_brings_it_back(talk: Talk) -> None:
    talk.hub.open("exec", {"argv": ["x" * 100]})
    cut = talk.hub_says()[:50]
    talk.hub.link_down()
    talk.send(cut + talk.hub_framing.sync(bytes(NONCE_SIZE)))
    talk.hub_takes()
    assert not talk.is_in_step()
    talk.send(talk.hub_framing.filler() + talk.hub_framing.sync(secrets.token_bytes(NONCE_SIZE)))
    talk.hub_takes()
    assert talk.is_in_step()
    talk.hub.link_up()
    talk.settle()
    assert [event.kind for event in talk.heard if isinstance(event, Opened)] == ["exec"]


def test_a_marker_inside_a_message_that_is_no_frames_is_found(talk: Talk) -> None:
    marker = Framing(leader=True, max_message=1000).sync(b"0123456789abcdef")
    talk.send(talk.hub_framing.wrap(b"\xff" + marker))
    with pytest.raises(Undecodable):
        # The echo is there; to a hub that did not ask it means nothing.
        Framing(leader=True, max_message=1000, in_step=True).feed(bytes(talk.wire.written) + b"junk")
    assert b"cloche-sync!" + b"0123456789abcdef".hex().encode() in talk.wire.written


def test_a_hub_that_breaks_the_protocol_is_told_and_loses_the_session(talk: Talk) -> None:
    number = talk.open()
    # Only the side that was offered a channel accepts it.
    talk.send(talk.hub_framing.wrap(encode(Accept(number, {}, 8), LIMITS)))
    talk.hub_takes()
    assert isinstance(talk.hub_heard[-1], Parted)
    failed = talk.heard[-1]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, LinkLost)
    assert talk.connection.channels == {}
    assert len(talk.troubles) == 1
    # What follows on the broken link is not listened to.
    before = len(talk.heard)
    talk.hub.open("exec", {})
    talk.send(talk.hub_says())
    assert len(talk.heard) == before


def test_a_new_hub_begins_a_new_session_and_the_old_channels_fail(talk: Talk) -> None:
    number = talk.open()
    talk.hub = Connection(leader=True, software="hub/2", session=b"1" * 16, limits=LIMITS)
    talk.greet()
    failed, greeted = talk.heard[-2:]
    assert isinstance(failed, Failed)
    assert failed.channel == number
    assert greeted == Greeted({}, "hub/2", resumed=False)


def test_accepting_reaches_the_hub(talk: Talk) -> None:
    number = talk.open()
    assert talk.hub_heard[-1] == Accepted(number, {}, 64)
