"""A store on a PostgreSQL server: what is a matter of the server, and the same numbers as on SQLite."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage import migrations, schema
from storage.database import Database
from storage.errors import (
    StoreAway,
    StoreError,
    StoreGone,
    StoreTaken,
)
from storage.records import Batch, Event, Fact
from storage.store import Store, open_store, refuse_claimed
from tests.storage.on_server import database, engine
from tests.storage.server import Server
from tests.storage.worlds import NOW, SECOND, write

__all__ = ["database", "engine"]

Open = Callable[..., Store]


def asked(store: Store, query: str) -> list[tuple[object, ...]]:
    """Rows of a question to the server."""
    with store._database.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query).all()]


def test_keys_of_samples_contain_their_time(store: Store) -> None:
    """Extensions that partition by time want it in every unique key; the numbers of two tables rise with time."""
    times = {"tick", "hour", "start_ms", "sequence"}
    query = (
        "SELECT c.relname, array_agg(a.attname::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)"
        " WHERE i.indisunique AND c.relnamespace = current_schema()::regnamespace GROUP BY c.relname, i.indexrelid"
    )
    keys = [(str(table), set(names)) for table, names in asked(store, query)]  # type: ignore[call-overload]
    assert {"hot", "clock", "chunk", "offset", "absence", "fact", "episode", "commit_log"} <= {name for name, _ in keys}
    samples = {"hot", "clock", "chunk", "offset", "absence", "fact", "episode", "commit_log"}
    assert [name for name, key in keys if name in samples and not key & times] == []


def test_how_tables_lie_on_the_disk(store: Store) -> None:
    query = (
        "SELECT attrelid::regclass::text, attstorage::text FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid"
        " WHERE attname = 'data' AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    assert {("chunk", "e"), ("clock", "e"), ("hot", "e")} <= set(asked(store, query))
    (options,) = asked(store, "SELECT reloptions FROM pg_class WHERE oid = 'hot'::regclass")
    assert options == (["toast_tuple_target=8160"],)


def test_texts_are_sorted_by_their_bytes(store: Store, server: Server) -> None:
    """The server of these tests sorts "a" before "B", as most do."""
    assert server.run("SELECT 'a' < 'B'") == [(True,)]
    store.commit(Batch(facts=[Fact(name, "x", "v", NOW) for name in ("a", "B", "_", "é", "ab")]), NOW)
    assert [fact.target for fact in store.facts()] == ["B", "_", "a", "ab", "é"]


def test_blobs_and_texts_of_any_kind(store: Store) -> None:
    """The letter 0, which the server refuses, is shown as unreadable; all others come back."""
    text = "a\0b 'q' \\ %s {x} \N{GRINNING FACE}\n"
    store.commit(Batch(events=[Event(0, NOW, "n", "k", text, {"l": "\0"}), Event(0, NOW, "n", "k", "\0", {})]), NOW)
    store.commit(Batch(facts=[Fact("n", "name", "\0", NOW)]), NOW)
    first, second = store.events(0, NOW)
    assert first.text == text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert first.labels == {"l": "\0"}
    assert second.text == store.facts()[0].value == "\N{REPLACEMENT CHARACTER}"


def test_the_size_is_that_of_all_tables(store: Store) -> None:
    before = store.size_bytes()
    write(store, "a", ["x"], {at: [at / 3] for at in range(2000)})
    assert store.size_bytes() > before + 2000 * 40
    tables = asked(store, "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE relkind = 'r'"
                          " AND relnamespace = current_schema()::regnamespace")  # fmt: skip
    assert tables == [(store.size_bytes(),)]


def test_two_stores_in_two_schemas_do_not_meet(server: Server, store: Store) -> None:
    other = open_store(server.url(schema=server.new("SCHEMA")), writer=True, now_ms=NOW, busy_ms=50)
    store.claim()
    other.claim()
    with store._database.writing():
        write(other, "a", ["x"], {0: [1]})
    assert (len(other.rows()), len(store.rows())) == (1, 0)
    other.close()


def test_one_collector_at_a_time(opened: Open, url: str) -> None:
    first, second = opened(), opened()
    refuse_claimed(url)
    first.claim()
    first.claim()
    sentence = "another collector writes to the store .*: stop it first"
    for ask in (second.claim, lambda: refuse_claimed(url)):
        with pytest.raises(StoreTaken, match=sentence):
            ask()
    first.close()
    refuse_claimed(url)
    second.claim()


def test_looking_for_a_collector_where_no_server_is() -> None:
    refuse_claimed("postgresql+psycopg://ann@/x?host=/nowhere")


def test_the_claim_of_a_process_that_dies_ends(url: str, opened: Open) -> None:
    store = opened()
    code = "import sys, time; from storage.store import open_store; s = open_store(sys.argv[1], writer=True, now_ms=0)"
    command = [sys.executable, "-c", f"{code}; s.claim(); print(flush=True); time.sleep(99)", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreTaken):
            store.claim()
        process.kill()
    end = time.monotonic() + 60
    while True:
        try:
            store.claim()
            break
        except StoreTaken:
            assert time.monotonic() < end


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_starts_anew_is_survived(server: Server, opened: Open, how: signal.Signals) -> None:
    store, reader = opened(), opened(writer=False)
    store.claim()
    write(store, "a", ["x"], {0: [1]})
    assert len(reader.rows()) == 1
    server.stop(how)
    for ask in (reader.rows, lambda: write(store, "a", ["x"], {1: [2]}), store.size_bytes):
        with pytest.raises(StoreAway, match=r"the server of the store postgresql\+psycopg://owner@/.* does not answer"):
            ask()
    reader.confirm()
    server.start()
    write(store, "a", ["x"], {1: [2]})
    assert [row.values.tolist() for row in reader.rows()] == [[1], [2]]
    assert [commit.sequence for commit in reader.commits_after(0)] == [1, 2]
    with pytest.raises(StoreTaken):
        opened().claim()


def cut_all(server: Server) -> None:
    """End every connection of ours, and wait until they have ended."""
    while server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tachograph'"):
        pass


def test_a_claim_that_another_took_meanwhile(server: Server, opened: Open) -> None:
    first, second = opened(), opened()
    first.claim()
    cut_all(server)
    second.claim()
    with pytest.raises(StoreTaken):
        first.commit(Batch(), NOW)
    second.close()
    assert first.commit(Batch(), NOW).sequence == 1
    with pytest.raises(StoreTaken):
        opened().claim()


def test_connections_that_were_cut_cost_no_question(server: Server, opened: Open) -> None:
    reader = opened()
    reader.rows()
    cut_all(server)
    assert reader.rows() == []


def test_tables_that_were_made_anew_are_another_store(server: Server, database: str) -> None:
    """What is remembered of the old ones, numbers of layouts above all, would be wrong in the new."""
    url = server.url(database)
    store = open_store(url, writer=True, now_ms=NOW)
    write(store, "a", ["x"], {0: [1]})
    server.run("DROP SCHEMA public CASCADE", database)
    server.run("CREATE SCHEMA public", database)
    for _ in range(2):
        for ask in (store.rows, store.confirm, lambda: write(store, "a", ["x"], {1: [2]})):
            with pytest.raises(StoreGone, match="was deleted or replaced while it was open"):
                ask()
        open_store(url, writer=True, now_ms=NOW + 1).close()
    store.close()


def test_a_database_that_was_made_anew_is_another_store(server: Server, database: str) -> None:
    store = open_store(server.url(database), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {0: [1]})
    assert len(store.rows()) == 1
    server.run(f"DROP DATABASE {database} WITH (FORCE)")
    for _ in range(2):
        with pytest.raises(StoreAway):
            store.rows()
    server.run(f"CREATE DATABASE {database}")
    with pytest.raises(StoreGone):
        store.rows()
    open_store(server.url(database), writer=True, now_ms=NOW + 1).close()
    with pytest.raises(StoreGone):
        store.rows()
    store.close()


def test_what_a_url_says_beside_is_kept(server: Server, url: str) -> None:
    store = open_store(url + "%20-cwork_mem%3D7MB&application_name=mine", writer=True, now_ms=NOW, busy_ms=1234)
    shown = {name: asked(store, f"SHOW {name}")[0][0] for name in ("work_mem", "application_name", "lock_timeout")}
    store.close()
    assert shown == {"work_mem": "7MB", "application_name": "mine", "lock_timeout": "1234ms"}


def test_steps_are_taken_in_order_and_whole(url: str) -> None:
    open_store(url, writer=True, now_ms=NOW).close()
    database = Database(url, writer=True, busy_ms=100)
    first = schema.VERSION + 1

    def good(connection: migrations.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE target ADD COLUMN site TEXT")

    def bad(connection: migrations.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE target ADD COLUMN region TEXT")
        connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(StoreError, match="nowhere"):
        migrations.bring_up_to_date(
            database, writer=True, now_ms=NOW, steps={first: good, first + 1: bad}, version=first + 1
        )
    with database.reading() as connection:
        assert migrations.version_of(connection) == first
        assert connection.exec_driver_sql("SELECT site FROM target").all() == []
        with pytest.raises(Exception, match="region"):
            connection.exec_driver_sql("SELECT region FROM target")
    database.close()


def test_a_reader_sees_one_state(opened: Open) -> None:
    store, reader = opened(), opened(writer=False)
    write(store, "a", ["x"], {0: [1]})
    with reader._database.reading() as connection:
        before = connection.exec_driver_sql("SELECT max(tick) FROM hot").scalar_one()
        write(store, "a", ["x"], {1: [2]})
        assert connection.exec_driver_sql("SELECT max(tick) FROM hot").scalar_one() == before == NOW
    assert len(reader.rows(end=NOW + SECOND)) == 2
