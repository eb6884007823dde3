"""`fallow serve`: how it starts, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from random import Random

import pytest
from helpers import command, runner
from service_helpers import (
    PATIENCE,
    SECRETS,
    SETTINGS,
    Load,
    Process,
    ask_over,
    check_log,
    served,
    wait_for_rewards,
    write_tokens,
)

from fallow.cli import app
from fallow.live.service.server import MOST_HEADER_BYTES
from fallow.live.service.tokens import ADMIN

pytestmark = pytest.mark.slow
GRACE = 2.0
"""Seconds within which the service ends after a signal."""
KILLS = 50 if os.environ.get("FALLOW_NIGHTLY") else 2


def _refused(*words: object) -> str:
    """Return the one line that a command refuses with."""
    store = [] if "--store" in words or not words else ["--store", "memory:"]
    result = runner.invoke(app, ["serve", *store, *map(str, words)])
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_it_needs_tokens_that_others_cannot_read(tmp_path: Path) -> None:
    assert "--token-file must be given" in _refused()
    assert "--token-file must be given" in _refused("--store", "memory:")
    path = tmp_path / "tokens"
    assert "could not be read" in _refused("--token-file", path)
    path.write_text("")
    path.chmod(0o600)
    assert "must hold a token" in _refused("--token-file", path)
    secret = "s3cret" * 5
    for line in (
        *(f"boss {secret}", f"reader writer {secret}", secret * 100, f"{secret}\u00fc"),
        *("reader", "writer ", "admin admin"),  # the variable with the secret was empty
    ):
        path.write_text(f"# whose\n{line}\n")
        message = _refused("--token-file", path)
        assert "line 2" in message
        assert "s3cret" not in message
    help_text = runner.invoke(app, ["serve", "--help"]).output
    assert "until=2027-01-31" in help_text
    path.write_text(secret)
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        assert f"chmod 600 {path}" in _refused("--token-file", path)


def test_it_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    tokens = ("--token-file", write_tokens(tmp_path))
    assert "store must be" in _refused(*tokens, "--store", "oracle:x")
    assert "--rate must be" in _refused(*tokens, "--rate", -1)
    assert "--key" in _refused(*tokens, "--cert", tmp_path / "cert.pem")
    pem = tmp_path / "empty.pem"
    pem.touch()
    assert "empty.pem" in _refused(*tokens, "--cert", pem, "--key", pem)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert str(folder) in _refused(*tokens, "--store", f"sqlite:///{folder}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in _refused(*tokens, "--port", port)


def test_it_serves_the_demo() -> None:
    process = subprocess.Popen(
        command("serve", "--demo", "--port", 0), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        base, _, secret = address.partition("/#token=")
        assert len(secret) >= 16
        assert Process(process, base).ask("GET", "/v1/campaigns").status == 401
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


def test_over_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    subject = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*words.split(), *subject, *files], check=True, capture_output=True)
    with served(tmp_path, "--cert", cert, "--key", key) as process:
        assert process.address.startswith("https://")
        context = ssl.create_default_context(cafile=cert)
        connection = HTTPSConnection("127.0.0.1", process.port, context=context, timeout=PATIENCE)
        assert ask_over(connection, "GET", "/v1/campaigns").json == {"campaigns": []}
        connection.close()


def test_names_in_addresses_are_decoded(tmp_path: Path) -> None:
    with served(tmp_path) as process:
        process.ask("PUT", "/v1/campaigns/morning", SETTINGS)
        odd = "/v1/campaigns/morning/arms/rock%20%26%20roll%2F90%25%20%C3%BC"
        assert process.ask("PUT", odd).json == {"status": "applied"}
        arms = process.ask("GET", "/v1/campaigns/morning").json["arms"]
        assert arms[-1]["name"] == "rock & roll/90% \u00fc"
        assert process.ask("PUT", "/v1/campaigns/morning/arms/%00").status == 422
        assert process.ask("PUT", "/v1/campaigns/morning/arms/%FF%0A").status == 422


def test_what_is_no_http_is_refused_in_json(tmp_path: Path) -> None:
    endless = b"GET / HTTP/1.1\r\nx: " + b"a" * (4 * MOST_HEADER_BYTES)
    many = b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * MOST_HEADER_BYTES
    with served(tmp_path) as process:
        for content in (b"hello\r\n\r\n", endless, many):
            with socket.create_connection(("127.0.0.1", process.port), PATIENCE) as line:
                try:
                    for begin in range(0, len(content), 4096):
                        line.sendall(content[begin : begin + 4096])
                    answer = line.recv(10_000)
                except ConnectionError:
                    continue  # it was refused before all was sent
                assert answer.startswith(b"HTTP/1.1 400")
                assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])
        assert process.ask("GET", "/healthz").status == 200


def test_files_are_sent_whole(tmp_path: Path) -> None:
    with served(tmp_path) as process:
        for path in ("/", "/page/client.js"):
            whole = process.ask("GET", path)
            for span in ("bytes=5-1", "bytes=99999999-", "x", "bytes=0-1,3-4", "bytes=1-"):
                connection = process.connect()
                connection.request("GET", path, headers={"Range": span})
                response = connection.getresponse()
                assert response.status == 200
                assert response.getheader("accept-ranges") == "none"
                assert response.read() == whole.body
                connection.close()


def test_it_does_not_wait_for_a_client_that_stopped(tmp_path: Path) -> None:
    """In the middle of its body, or without reading a long answer."""
    with served(tmp_path) as process:
        process.ask("PUT", "/v1/campaigns/morning", SETTINGS)
        users = [{"user": f"ann {number:0>190}"} for number in range(1000)]
        for _ in range(20):
            batch = process.ask(
                "POST", "/v1/campaigns/morning/decisions/batch", {"decisions": users}
            )
            assert batch.status == 201
        head = f"Host: a\r\nAuthorization: Bearer {SECRETS[ADMIN]}\r\n"
        length = "Content-Length: 100\r\n"
        requests = (
            f"POST /v1/campaigns/morning/decisions HTTP/1.1\r\n{head}{length}\r\n{{",
            f"PUT /v1/campaigns/evening HTTP/1.1\r\n{head}{length}\r\n{{",
            f"GET /v1/campaigns/morning/log HTTP/1.1\r\n{head}\r\n",
            f"GET / HTTP/1.1\r\n{head}",
        )
        with ExitStack() as stack:
            for request in requests:
                line = stack.enter_context(socket.socket())
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                line.connect(("127.0.0.1", process.port))
                line.sendall(request.encode())
            assert process.ask("GET", "/healthz").status == 200
            time.sleep(0.3)
            begun = time.monotonic()
            process.process.send_signal(signal.SIGTERM)
            assert process.process.wait(PATIENCE) == 0
            assert time.monotonic() - begun < GRACE
        assert process.process.stderr is not None
        assert process.process.stderr.read() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_acknowledged_is_lost(tmp_path: Path, number: signal.Signals) -> None:
    options = ("--store", f"sqlite:///{tmp_path}/events.db")
    with served(tmp_path, *options) as process:
        assert process.ask("PUT", "/v1/campaigns/morning", SETTINGS).status == 201
        streams: list[HTTPResponse | HTTPConnection] = []
        for _ in range(3):
            connection = process.connect()
            headers = {"Authorization": f"Bearer {write_tokens(tmp_path).read_text().split()[0]}"}
            connection.request("GET", "/v1/campaigns/morning/stream", headers=headers)
            response = connection.getresponse()
            assert response.readline().startswith(b"data: ")
            streams += [response, connection]
        loads = [Load(process, f"client {number}") for number in range(8)]
        wait_for_rewards(loads, 500)
        begun = time.monotonic()
        os.kill(process.process.pid, number)
        code = process.process.wait(PATIENCE)
        if number != signal.SIGKILL:
            assert code == 0
            assert time.monotonic() - begun < GRACE
        for load in loads:
            load.join(PATIENCE)
        for stream in streams:
            stream.close()
        assert process.process.stderr is not None
        assert process.process.stderr.read() == ""
    with served(tmp_path, *options) as process:
        check_log(process, loads)


@pytest.mark.parametrize("options", [[], ["--durable"]], ids=["normal", "full"])
def test_one_kill_after_the_other_loses_nothing(tmp_path: Path, options: list[str]) -> None:
    random = Random(17)
    words = ("--store", f"sqlite:///{tmp_path}/events.db", *options)
    loads: list[Load] = []
    for kill in range(KILLS):
        with served(tmp_path, *words) as process:
            process.ask("PUT", "/v1/campaigns/morning", SETTINGS)
            mine = [Load(process, f"client {kill} {number}") for number in range(8)]
            wait_for_rewards(mine, random.randrange(1, 200))
            process.process.kill()
            process.process.wait(PATIENCE)
            for load in mine:
                load.join(PATIENCE)
            loads += mine
    with served(tmp_path, *words) as process:
        check_log(process, loads)
