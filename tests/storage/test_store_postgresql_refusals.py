"""What a PostgreSQL server, or a store on it, refuses: each becomes a sentence of ours, without a password."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from storage.errors import (
    StoreAway,
    StoreBroken,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreGone,
    StoreNotReady,
    StoreReadOnly,
)
from storage.postgresql import Postgresql, refuse
from storage.store import Store, open_store
from tests.storage.on_server import database, engine
from tests.storage.server import PASSWORD, QUOTED, Server
from tests.storage.worlds import NOW, write

__all__ = ["database", "engine"]

Open = Callable[..., Store]


def test_who_may_only_read(server: Server, database: str) -> None:
    store = open_store(server.url(database), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {0: [1]})
    server.run("DROP ROLE IF EXISTS ann")
    server.run(f"CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'")
    url = server.url(database, "ann")
    with pytest.raises(StoreReadOnly, match="grant its user more rights"):
        open_store(url, writer=False, now_ms=NOW)
    server.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO ann", database)
    reader = open_store(url, writer=False, now_ms=NOW)
    assert len(reader.rows()) == 1
    with pytest.raises(StoreReadOnly, match="cannot be written: grant its user more rights"):
        reader.set_preference("a", 1)
    server.run("GRANT INSERT, UPDATE ON preference, command TO ann", database)
    server.run("GRANT USAGE ON SEQUENCE command_id_seq TO ann", database)
    reader.set_preference("a", 1)
    assert reader.enqueue("label", {}, NOW) == store.pending_commands()[0].id
    with pytest.raises(StoreReadOnly):
        write(reader, "a", ["x"], {1: [1]})
    reader.close()
    store.close()
    server.run("DROP OWNED BY ann", database)
    empty = server.new()
    with pytest.raises(StoreReadOnly):
        open_store(server.url(empty, "ann"), writer=True, now_ms=NOW)
    with pytest.raises(StoreNotReady):
        open_store(server.url(empty, "ann"), writer=False, now_ms=NOW)
    server.run(f"DROP DATABASE {empty}")


def test_no_sentence_holds_the_password(server: Server, database: str) -> None:
    wrong = server.url(database, password="se%40cret")
    none = server.url("none")
    parameter = server.url(database, password="x") + "&password=se%40cret"
    for url in (
        wrong,
        none,
        parameter,
        server.url(database, "nobody"),
        "postgresql+psycopg://a:s%40/ret@/x?host=/nowhere",
    ):
        with pytest.raises(StoreAway) as told:
            open_store(url, writer=True, now_ms=NOW)
        assert not any(word in str(told.value) for word in ("se%40cret", "se@cret", "ret@", "s%40", PASSWORD, QUOTED))
    for url in ("postgresql+psycopg://a:secret@h:port/x", "mysql://a:secret@h/x"):
        with pytest.raises(StoreError, match="names no store") as refused:
            open_store(url, writer=True, now_ms=NOW)
        assert "ret" not in str(refused.value).replace("postgresql", "")


@pytest.mark.parametrize("made", ["meta (key text, value text)", "other (x int)", "meta (x int)"])
def test_a_database_of_another_program(server: Server, url: str, made: str) -> None:
    server.run(f"CREATE TABLE {url.rpartition('%3D')[2]}.{made}")
    with pytest.raises(StoreBroken, match="another program"):
        open_store(url, writer=True, now_ms=NOW)


def test_a_disk_without_room_is_full_and_loses_nothing(server: Server, opened: Open, url: str) -> None:
    store, place = opened(), url.rpartition("%3D")[2]
    write(store, "a", ["x"], {0: [1]})
    server.run(
        f"CREATE FUNCTION {place}.full() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END$$"
    )
    server.run(f"CREATE TRIGGER no_room BEFORE INSERT ON {place}.hot EXECUTE FUNCTION {place}.full()")
    with pytest.raises(StoreFull, match=r"no room left for the store .*: free some disk space \(could not extend"):
        write(store, "a", ["x"], {1: [2]})
    server.run(f"DROP TRIGGER no_room ON {place}.hot")
    write(store, "a", ["x"], {1: [2]})
    assert [commit.sequence for commit in store.commits_after(0)] == [1, 2]
    assert [row.values.tolist() for row in store.rows()] == [[1], [2]]


def failure(state: str) -> psycopg.Error:
    """An error as the driver raises it."""
    error = psycopg.errors.lookup(state)("it says why\nLINE 1: …")
    assert error.sqlstate == state
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (failure("55P03"), StoreBusy),
        (failure("40P01"), StoreBusy),
        (failure("40001"), StoreBusy),
        (failure("57014"), StoreBusy),
        (failure("53100"), StoreFull),
        (failure("42501"), StoreReadOnly),
        (failure("25006"), StoreReadOnly),
        (failure("42P01"), StoreGone),
        (failure("42703"), StoreBroken),
        (failure("XX001"), StoreBroken),
        (failure("XX002"), StoreBroken),
        (failure("57P01"), StoreAway),
        (failure("57P02"), StoreAway),
        (failure("57P03"), StoreAway),
        (failure("57P05"), StoreAway),
        (failure("53300"), StoreAway),
        (failure("08006"), StoreAway),
        (psycopg.OperationalError("it says why"), StoreAway),
        (PoolTimeoutError("it says why"), StoreAway),
        (failure("23502"), StoreError),
        (psycopg.DataError("it says why"), StoreError),
    ],
)
def test_errors_of_the_server_become_ours(error: Exception, kind: type[StoreError]) -> None:
    found = Postgresql("postgresql+psycopg://ann:secret@db:5433/x", 1000).explain(error)
    assert type(found) is kind
    assert str(found).endswith(" (it says why)")
    assert "postgresql+psycopg://ann@db:5433/x" in str(found)


def test_servers_and_databases_that_are_refused(server: Server) -> None:
    refuse(130_000, "UTF8")
    with pytest.raises(StoreError, match=r"the server is PostgreSQL 12\.22, but 13 or newer is needed"):
        refuse(120_022, "UTF8")
    name = server.new(options="ENCODING SQL_ASCII LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="has the encoding SQL_ASCII: make one with UTF8"):
        open_store(server.url(name), writer=False, now_ms=NOW)
    server.run(f"DROP DATABASE {name}")


def test_without_the_driver_a_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from storage.errors import StoreError\n"
        "from storage.store import open_store\n"
        "try: open_store('postgresql+psycopg://h/x', writer=False, now_ms=0)\n"
        "except StoreError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True
    )
    assert done.stdout.startswith("PostgreSQL needs psycopg: pip install -r requirements-postgresql.txt (")
