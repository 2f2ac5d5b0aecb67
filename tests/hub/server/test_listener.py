"""How clients come in, and what keeps everybody else out, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_hub.domain.tokens import Scope, id_of
from cloche_hub.errors import CodedError, TooLarge, Unauthenticated
from cloche_wire.errors import InternalError, WireError
from cloche_wire.frames import Bye, Data, Decoder, Hello, encode
from cloche_wire.limits import Limits
from tests.support.fake_images import LONG_AGO
from tests.support.hub import RunningHub, open_socket, running_hub, until, within
from tests.support.strangers import answer_to, hello, said_to

# Who may come in.


async def test_the_admin_token_of_the_file_lets_its_owner_in(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert (await client.call("hub.status"))["machines"] == 0
        assert client.peer.greeting is not None
        assert client.peer.greeting.software.startswith("cloche-hub/")


async def refusal(hub: RunningHub, token: str | None) -> WireError:
    """Why the hub does not let a token in."""
    with pytest.raises(WireError) as raised:
        async with hub.client(token, anonymous=token is None):
            pass
    return raised.value


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (None, "no token"),
        ("hunter2", "that is no token"),
        ("clt_" + "0" * 12 + "_" + "0" * 52, "does not know that token"),
    ],
)
async def test_a_stranger_is_told_what_is_wrong_with_its_token(
    tmp_path: Path, token: str | None, words: str
) -> None:
    async with running_hub(tmp_path / "home") as hub:
        error = await refusal(hub, token)
        assert isinstance(error, Unauthenticated)
        assert words in error.message


async def test_a_wrong_secret_and_an_unknown_token_get_the_same_words(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        wrong_secret = hub.admin[:-52] + "0" * 52
        unknown = "clt_" + "0" * 12 + "_" + "0" * 52
        assert str(await refusal(hub, wrong_secret)) == str(await refusal(hub, unknown))


async def test_a_revoked_token_opens_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        token = await hub.mint("somebody", Scope.OPERATOR)
        await hub.store.write(lambda transaction: transaction.revoke_token(id_of(token), at=LONG_AGO))
        error = await refusal(hub, token)
        assert isinstance(error, Unauthenticated)
        assert "revoked" in error.message


async def test_no_tokens_text_is_ever_logged_or_audited(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        bad = hub.admin[:-52] + "0" * 52
        await refusal(hub, bad)
        async with hub.client():
            pass
        said = str([hub.logs, await hub.events()])
        assert hub.admin[-52:] not in said
        assert bad not in said
        assert "client_refused" in said


async def test_a_hub_that_cannot_look_a_token_up_says_so_and_lives(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:

        async def broken(_token_id: str) -> None:
            raise OSError("the disk is gone")

        hub.store.token = broken  # type: ignore[method-assign, assignment]
        error = await refusal(hub, hub.admin)
        assert isinstance(error, InternalError)
        assert "disk" not in str(error)
        del hub.store.token
        async with hub.client() as client:
            await client.call("hub.status")


# Sessions.


async def test_another_token_cannot_take_up_a_session(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        command = await client.exec("a", "cat", stdin=True)
        thief = await hub.mint("thief", Scope.OPERATOR)
        (bye,) = await answer_to(hub, encode(hello(thief, session=client.session), Limits()))
        assert bye == Bye(0, "unauthenticated", "that session is not yours")
        command.end(1)
        assert (await within(command.result()))["exit_code"] == 0


async def test_a_new_link_of_a_session_replaces_the_one_before_it(tmp_path: Path) -> None:
    # Also where there is room for no other link.
    async with running_hub(tmp_path / "home", max_connections=1) as hub:
        first, second, third = [await open_socket(hub.address) for _ in range(3)]
        for socket in (first, second, third):
            # All at once: the last one wins, and none is left waiting.
            await socket.send(encode(hello(hub.admin), Limits()))
        await said_to(first)
        await said_to(second)
        (greeting,) = Decoder(Limits()).frames(await within(third.recv(decode=False)))
        assert isinstance(greeting, Hello)
        await third.close()


async def test_a_session_nobody_takes_up_makes_room_for_others(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_connections=2, resume_grace_s=3600) as hub:
        for _ in range(6):
            async with hub.client() as client:
                await client.cut()
        async with hub.client() as client:
            await client.call("hub.status")


async def test_a_session_that_ended_can_be_begun_anew_under_its_name(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=0) as hub:
        for _ in range(3):
            socket = await open_socket(hub.address)
            await socket.send(encode(hello(hub.admin), Limits()))
            (greeting,) = Decoder(Limits()).frames(await within(socket.recv(decode=False)))
            assert isinstance(greeting, Hello)
            await socket.close()


# Strangers.


async def test_a_stranger_who_says_nothing_is_sent_away_in_time(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", listener={"hello_s": 0.05}) as hub:
        (bye,) = await answer_to(hub)
        assert isinstance(bye, Bye)
        assert (bye.code, bye.message) == ("timed_out", "no hello within 0.05 s")


async def test_strangers_in_crowds_keep_nobody_out_and_are_few(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", listener={"max_strangers": 3}) as hub:
        crowd = [await open_socket(hub.address) for _ in range(10)]
        async with hub.client() as client:
            await client.call("hub.status")
        await within(asyncio.gather(*[socket.wait_closed() for socket in crowd[:7]]))
        for socket in crowd:
            await socket.close()


async def test_connections_that_do_not_even_shake_hands_keep_nobody_out(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", listener={"max_strangers": 3}) as hub:
        path = hub.address.removeprefix("unix://")
        crowd = [await asyncio.open_unix_connection(path) for _ in range(10)]
        async with hub.client() as client:
            await client.call("hub.status")
        # And they do not hold up the end either.
        await hub.end()
        for _, writer in crowd:
            writer.transport.abort()


async def test_there_are_no_more_links_than_there_may_be(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_connections=1) as hub:
        async with hub.client() as client:
            error = await refusal(hub, hub.admin)
            assert isinstance(error, TooLarge)
            assert "max_connections" in error.message
            # A client that is in may come back, though.
            await client.cut()
            await client.link()
        async with asyncio.timeout(5):
            while isinstance(await refusal_or_none(hub), TooLarge):
                await asyncio.sleep(0.001)


async def test_one_token_cannot_take_all_links(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_token_connections=2) as hub:
        greedy, modest = await hub.mint("greedy"), await hub.mint("modest")
        async with hub.client(greedy) as one, hub.client(greedy):
            error = await refusal(hub, greedy)
            assert isinstance(error, TooLarge)
            assert "close some" in error.message
            assert "max_token_connections" in error.message
            # Others are let in, and who is in may come back.
            async with hub.client(modest), hub.client(), hub.client(), hub.client():
                pass
            await one.cut()
            await one.link()


async def test_some_links_are_kept_for_admins(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_connections=3) as hub:
        token, other = await hub.mint("a", Scope.OPERATOR), await hub.mint("b")
        async with hub.client(token), hub.client(token):
            assert isinstance(await refusal(hub, other), TooLarge)
            async with hub.client() as admin:
                await admin.call("hub.status")
                assert isinstance(await refusal(hub, hub.admin), TooLarge)


async def test_sessions_one_token_leaves_behind_do_not_push_out_those_of_others(tmp_path: Path) -> None:
    async with running_hub(
        tmp_path / "home", max_connections=8, max_token_connections=2, resume_grace_s=3600
    ) as hub:
        greedy = await hub.mint("greedy")
        async with hub.client() as waiting:
            await waiting.create(name="a")
            command = await waiting.exec("a", "cat", stdin=True)
            await waiting.cut()
            for _ in range(20):
                async with hub.client(greedy) as client:
                    await client.cut()
            await waiting.link()
            command.end(1)
            assert (await within(command.result()))["exit_code"] == 0


async def refusal_or_none(hub: RunningHub) -> WireError | None:
    """Why the hub does not let the admin in now; None if it does."""
    try:
        async with hub.client():
            return None
    except WireError as error:
        return error


NO_HELLOS = {
    "nothing": b"",
    "no msgpack": b"\xc1",
    "http": b"GET / HTTP/1.1\r\n",
    "text": "a text message",
    "another frame": encode(Data(1, 1, 0, b"x"), Limits()),
    "a short session": encode(hello("x", session=b"short"), Limits()),
    "a long session": encode(hello("x", session=b"x" * 65), Limits()),
    "huge arrays": b"\x98" + b"\xdd\xff\xff\xff\xff" * 8,
    "zeros": bytes(100_000),
}


@pytest.mark.parametrize("message", NO_HELLOS.values(), ids=NO_HELLOS)
async def test_what_is_no_hello_is_called_that(tmp_path: Path, message: bytes | str) -> None:
    async with running_hub(tmp_path / "home") as hub:
        (bye,) = await answer_to(hub, message)
        assert isinstance(bye, Bye)
        assert bye.code == "bad_request"
        assert bye.message.startswith("that is no hello")
        async with hub.client() as client:
            await client.call("hub.status")


async def test_a_message_over_the_limit_ends_its_link_alone(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home", max_frame_bytes=4096, max_message_bytes=8192) as hub,
        hub.client() as client,
    ):
        assert await answer_to(hub, bytes(8193)) == []
        assert client.ended.done() is False
        await client.call("hub.status")


async def test_another_protocol_version_is_told_which_is_spoken_here(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        future = hello(hub.admin)._replace(protocol=999)
        frames = await answer_to(hub, encode(future, Limits()))
        assert isinstance(frames[-1], Bye)
        assert frames[-1].code == "unsupported"
        assert "999" in frames[-1].message


async def test_a_client_that_breaks_the_protocol_loses_its_session_and_nobody_elses(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        greeted = encode(hello(hub.admin), Limits())
        frames = await answer_to(hub, greeted, encode(Data(99, 1, 0, b"x"), Limits()))
        assert isinstance(frames[-1], Bye)
        assert frames[-1].code == "bad_request"
        assert "protocol error" in frames[-1].message
        await client.call("hub.status")


# Defects.


async def test_a_defect_in_a_handler_ends_its_request_alone_and_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        monkeypatch.setattr(hub.images, "list", lambda: 1 / 0)
        with pytest.raises(InternalError, match="log on that side"):
            await client.call("image.list")
        await client.call("hub.status")
        (line,) = [line for line in hub.logs if line["event"] == "handler_defect"]
        assert (line["kind"], type(line["exc_info"])) == ("image.list", ZeroDivisionError)


# The end.


async def test_the_end_of_the_hub_tells_every_client_and_lets_nobody_new_in(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as one, hub.client() as other:
        await hub.end()
        for client in (one, other):
            error = await within(client.ended)
            assert isinstance(error, CodedError)
            assert error.code == "shutting_down"
        with pytest.raises(OSError, match="No such file"):
            await open_socket(hub.address)


async def test_a_client_that_comes_in_while_the_hub_ends_does_not_hold_it_up(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=3600) as hub:
        real = hub.store.token
        asked, gate = asyncio.Event(), asyncio.Event()

        async def slowly(token_id: str) -> object:
            asked.set()
            await gate.wait()
            return await real(token_id)

        hub.store.token = slowly  # type: ignore[method-assign, assignment]
        socket = await open_socket(hub.address)
        await socket.send(encode(hello(hub.admin), Limits()))
        await within(asked.wait())
        hub.stop.set()
        await until(lambda: any(line["event"] == "hub_stopping" for line in hub.logs))
        gate.set()
        await within(asyncio.wait({hub.serving}))
        await socket.close()
