"""The link to a hub: made, ended; and every way in which it is not made."""

from __future__ import annotations

import asyncio
import socket as sockets
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve, unix_serve

from cloche.config import find_address
from cloche.errors import (
    BadRequest,
    Cancelled,
    CodedError,
    Forbidden,
    HubNotRunning,
    LinkSilent,
    NotFound,
    Unauthenticated,
    Unsupported,
)
from cloche.link import Link
from cloche_wire import PROTOCOL_VERSION
from cloche_wire.aio import Channel
from cloche_wire.frames import Bye, encode
from cloche_wire.limits import Limits
from tests.sdk.links import IMPATIENT, QUICK, at, hello_on, link_to
from tests.support.scripted_hub import TOKEN, ScriptedHub, answer, refuse

# --- connecting --------------------------------------------------------------------------------------------------


async def test_a_call_returns_what_the_hub_answered(scripted_hub: ScriptedHub) -> None:
    async with link_to(scripted_hub) as link:
        assert await link.call("ping", {"a": 1}) == {"pong": 1}
    assert scripted_hub.asked == [("ping", {"a": 1})]


async def test_an_error_of_the_hub_arrives_as_the_same_error(scripted_hub: ScriptedHub) -> None:
    scripted_hub.handlers["fail"] = refuse(NotFound("no such thing", thing="x"))
    async with link_to(scripted_hub) as link:
        with pytest.raises(NotFound, match="no such thing") as caught:
            await link.call("fail")
        assert caught.value.details == {"thing": "x"}
        assert await link.call("ping") == {"pong": 1}


async def test_nobody_at_a_socket_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(HubNotRunning, match=r"no hub answers at unix://.*\(No such file or directory\)"):
        await Link(at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_a_socket_whose_hub_was_killed_is_told_at_once(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "hub.sock"))
    with pytest.raises(HubNotRunning, match="Connection refused"):
        await Link(at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_this_user_s_own_hub_not_running_says_how_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    with pytest.raises(HubNotRunning, match="start one with: cloche hub --background"):
        await Link(find_address(), None, patience=QUICK).__aenter__()


async def test_a_socket_in_a_folder_that_is_not_this_user_s_gets_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to("elsewhere")
    async with ScriptedHub(tmp_path / "run/hub.sock") as somebody:
        with pytest.raises(Forbidden, match="no hub there is trusted"):
            await Link(find_address(), TOKEN, patience=QUICK).__aenter__()
        assert somebody.hellos == []


async def test_nobody_at_a_port_is_told_at_once() -> None:
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        HubNotRunning, match=rf"no hub answers at ws://127.0.0.1:{port} \(Connection refused\)"
    ):
        await Link(find_address(f"ws://127.0.0.1:{port}"), None, patience=QUICK).__aenter__()


async def test_something_else_that_listens_is_no_hub(tmp_path: Path) -> None:
    async def be_rude(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(be_rude, tmp_path / "hub.sock"):
        with pytest.raises(HubNotRunning, match="no Cloche hub"):
            await Link(at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_something_that_accepts_and_says_nothing_is_waited_for_only_so_long(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "hub.sock"))
        silent.listen()
        with pytest.raises(LinkSilent, match="does not answer"):
            await Link(at(tmp_path / "hub.sock"), None, patience=IMPATIENT).__aenter__()


async def test_a_hub_that_takes_the_socket_and_never_greets_is_waited_for_only_so_long(
    tmp_path: Path,
) -> None:
    async def ignore(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async with unix_serve(ignore, str(tmp_path / "hub.sock")):
        with pytest.raises(LinkSilent, match="does not answer"):
            await Link(at(tmp_path / "hub.sock"), None, patience=IMPATIENT).__aenter__()


@pytest.mark.parametrize("token", ["wrong", None])
async def test_a_token_the_hub_does_not_know_is_told_at_once(
    scripted_hub: ScriptedHub, token: str | None
) -> None:
    with pytest.raises(Unauthenticated, match="does not know this token"):
        await link_to(scripted_hub, token=token).__aenter__()


async def test_a_hub_of_another_protocol_is_told_at_once(tmp_path: Path) -> None:
    async def greet(socket: ServerConnection) -> None:
        hello = await hello_on(socket)
        answer = hello._replace(protocol=PROTOCOL_VERSION + 1, software="future/9")
        await socket.send(encode(answer, Limits()))
        await socket.wait_closed()

    async with unix_serve(greet, str(tmp_path / "hub.sock")):
        with pytest.raises(Unsupported, match=r"do not match: the peer \(future/9\) speaks protocol"):
            await Link(at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_a_socket_this_user_may_not_use_is_told(
    scripted_hub: ScriptedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def denied(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("cloche.link.connect_unix", denied)
    with pytest.raises(Forbidden, match="may not use the hub"):
        await link_to(scripted_hub).__aenter__()


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    async def redirect(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(redirect, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HubNotRunning, match=r"no Cloche hub .*302"):
            await Link(find_address(f"ws://127.0.0.1:{port}"), TOKEN, patience=QUICK).__aenter__()


async def test_a_hub_on_tcp_is_spoken_to_just_the_same() -> None:
    async def turn_away(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send(encode(Bye(0, "unauthenticated", "who are you?"), Limits()))

    async with serve(turn_away, "127.0.0.1") as server:
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(Unauthenticated, match="who are you"):
            await Link(find_address(f"ws://127.0.0.1:{port}"), TOKEN, patience=QUICK).__aenter__()


# --- ending it ---------------------------------------------------------------------------------------------------


async def test_closing_gives_up_what_is_underway_on_both_sides(scripted_hub: ScriptedHub) -> None:
    ended = asyncio.Event()

    async def listen(channel: Channel) -> None:
        channel.accept()
        try:
            await channel.read(0)
        finally:
            ended.set()

    scripted_hub.handlers["listen"] = listen
    async with link_to(scripted_hub) as link:
        channel = link.open("listen")
        await channel.wait_accepted()
    await ended.wait()
    with pytest.raises(Cancelled):
        await channel.result()
    with pytest.raises(Cancelled, match="closed"):
        link.open("ping")


async def test_closing_twice_is_closing_once(scripted_hub: ScriptedHub) -> None:
    link = link_to(scripted_hub)
    await link.close()
    async with link:
        pass
    await link.close()


async def test_an_error_inside_passes_through_as_it_is(scripted_hub: ScriptedHub) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with link_to(scripted_hub):
            raise LookupError("mine")


async def test_cancelling_a_call_tells_the_hub(scripted_hub: ScriptedHub) -> None:
    outcome: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    listens = asyncio.Event()

    async def listen(channel: Channel) -> None:
        channel.accept()
        listens.set()
        try:
            await channel.read(0)
        except CodedError as error:
            outcome.set_result(error)

    scripted_hub.handlers["listen"] = listen
    async with link_to(scripted_hub) as link, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(link.call("listen"))
        await listens.wait()
        call.cancel()
        assert isinstance(await outcome, Cancelled)


async def test_cancelling_the_connecting_leaves_nothing_behind(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "hub.sock"))
        silent.listen()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await Link(at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()
    assert len(asyncio.all_tasks()) == 1


async def test_a_request_that_is_wrong_here_is_not_sent(scripted_hub: ScriptedHub) -> None:
    async with link_to(scripted_hub) as link:
        with pytest.raises(CodedError, match="over the limit"):
            await link.call("ping", {"a": "x" * (2 << 20)})
        for send in (link.open, link.call):
            with pytest.raises(BadRequest, match=r"ping cannot be sent: .*surrogates not allowed"):
                await send("ping", {"path": "caf\udce9"})  # type: ignore[misc]
        assert await link.call("ping") == {"pong": 1}
    assert len(scripted_hub.asked) == 1


async def test_what_the_hub_opens_is_served_by_whoever_registered_for_it(scripted_hub: ScriptedHub) -> None:
    async def ask(channel: Channel) -> None:
        channel.accept()
        for kind, name in (("callback", "mine"), ("callback", "none"), ("nonsense", "mine")):
            asked = channel.open_beside(kind, {"registration": name})
            try:
                await channel.send_message(await asked.result())
            except CodedError as error:
                await channel.send_message(error.code)
        channel.close({})

    scripted_hub.handlers["ask"] = ask
    async with link_to(scripted_hub) as link:
        link.answerers["mine"] = answer({"answered": True})
        channel = link.open("ask")
        assert [message async for message in channel.messages()] == [
            {"answered": True}, "cancelled", "unsupported"
        ]  # fmt: skip


async def test_what_the_hub_says_of_itself_is_kept(scripted_hub: ScriptedHub) -> None:
    scripted_hub.info["waiting"] = 2
    link = link_to(scripted_hub)
    assert link.hub_info == {}
    async with link:
        assert (link.hub_info, link.is_over) == ({"waiting": 2}, False)
    assert link.is_over
