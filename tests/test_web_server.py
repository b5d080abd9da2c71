"""A server: where it listens, who may come, and how it is reached."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.serving import serving
from tract import Tract
from tract.access import new_token, token_digest
from tract.errors import AccessError, InputError
from tract.web.server import Settings, host_names, is_loopback, prepare


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_which_addresses_are_of_this_machine_alone(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_elsewhere_it_needs_tokens(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with pytest.raises(AccessError, match="tract token add"):
        prepare(Settings(database, host="0.0.0.0", port=0))
    with Tract.open(database) as t:
        t.store.grants.add("a", token_digest(new_token()), "read")
    server = prepare(Settings(database, host="0.0.0.0", port=0))
    server.socket.close()
    assert server.token is None


def test_a_revoked_token_is_none(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with Tract.open(database) as t:
        t.store.grants.add("a", token_digest(new_token()), "read")
        t.store.grants.revoke("a")
    with pytest.raises(AccessError):
        prepare(Settings(database, host="0.0.0.0", port=0))


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with serving(database) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}"):
            prepare(Settings(database, port=port))


def test_the_names_of_a_server() -> None:
    assert host_names("127.0.0.1", 8000, ()) == {
        "127.0.0.1:8000",
        "localhost:8000",
        "[::1]:8000",
    }
    assert "tract.example.org" in host_names("10.0.0.1", 8000, ("Tract.Example.org",))
    assert "127.9.9.9:8000" in host_names("127.9.9.9", 8000, ())
    assert host_names("fe80::1", 80, ()) == {"[fe80::1]:80", "[fe80::1]"}


def test_the_link_keeps_its_token_from_logs(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db"), token="tract_x") as server:
        assert server.link == f"{server.url}/#token=tract_x"


def test_another_name_is_accepted_if_it_is_named(tmp_path: Path) -> None:
    with serving(str(tmp_path / "t.db"), names=("tract.example.org",)) as server:
        for host, status in (("tract.example.org", 200), ("evil.example.org", 421)):
            headers = {"host": host, "authorization": f"Bearer {server.token}"}
            assert httpx2.get(f"{server.url}/api", headers=headers).status_code == status
