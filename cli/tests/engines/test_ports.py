"""Ports: named ones or none, remembered ones if free, never one twice."""

import json
import socket
from pathlib import Path

import pytest
from styx_cli.engines.ports import HOST, PortTaken, choose

NAMES = ("nats", "bao", "web")


def listener(port: int = 0) -> socket.socket:
    found = socket.socket()
    found.bind((HOST, port))
    found.listen()
    return found


def test_free_ports_differ_and_are_remembered(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    first = choose(memory, NAMES, {})
    assert len(set(first.values())) == 3
    assert choose(memory, NAMES, {}) == first
    assert json.loads(memory.read_text()) == first


def test_a_remembered_port_that_is_taken_is_replaced(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    first = choose(memory, NAMES, {})
    with listener(first["bao"]):
        second = choose(memory, NAMES, {})
    assert second["bao"] != first["bao"]
    assert (second["nats"], second["web"]) == (first["nats"], first["web"])


def test_a_named_port_is_used_or_refused(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    with listener() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} for bao"):
            choose(memory, NAMES, {"bao": port})
    assert choose(memory, NAMES, {"bao": port})["bao"] == port


def test_one_port_named_twice_is_refused(tmp_path: Path) -> None:
    port = choose(tmp_path / "other.json", ("any",), {})["any"]
    with pytest.raises(PortTaken):
        choose(tmp_path / "ports.json", NAMES, {"bao": port, "web": port})


def test_others_names_are_kept(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    engines = choose(memory, ("nats",), {})
    services = choose(memory, ("web",), {})
    assert json.loads(memory.read_text()) == engines | services


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"nats": "x", "bao": 70000, "web": true}'])
def test_a_damaged_memory_costs_new_ports_only(tmp_path: Path, text: str) -> None:
    memory = tmp_path / "ports.json"
    memory.write_text(text)
    assert all(1024 <= port < 65_536 for port in choose(memory, NAMES, {}).values())
