"""Exports in a bucket of a real S3 server: the same rows as from a folder, in every form, whatever the network does.

The server (SeaweedFS) comes with the development requirements, so these run everywhere and are not marked `services`.
"""

from __future__ import annotations

import gzip
import io
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import urllib3
from minio import Minio

from compliance_pipelines import doctor
from compliance_pipelines.adapters.doctor_finding import State, carry_out
from compliance_pipelines.adapters.langfuse_export import ExportError, ExportReader, ExportSource, ReadReport
from compliance_pipelines.adapters.langfuse_export_place import ExportPrefix
from compliance_pipelines.adapters.langfuse_export_s3 import S3Export
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.resources import TraceSourceResource, from_env, utc_now
from compliance_pipelines.settings import SettingsError, settings
from compliance_pipelines_tests.services.servers import S3Server

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
SAMPLE = Path(__file__).parents[2] / "compliance_pipelines" / "sample"
BUCKET = "langfuse-exports"
FIRST, LAST = date(2026, 6, 1), date(2026, 6, 30)
RECORDED = date(2026, 11, 30)
Put = Callable[..., str]


@pytest.fixture(scope="module")
def client(client: Minio) -> Minio:
    client.make_bucket(BUCKET)
    return client


@pytest.fixture
def put(client: Minio, tmp_path: Path) -> Put:
    """Stores named contents under a prefix of the test's own; returns its address."""
    prefix = tmp_path.name

    def stored(files: dict[str, bytes]) -> str:
        for name, content in files.items():
            client.put_object(BUCKET, f"{prefix}/{name}", io.BytesIO(content), len(content))
        return f"s3://{BUCKET}/{prefix}"

    return stored


@pytest.fixture
def source(server: S3Server) -> Callable[[str], S3Export]:
    def opened(address: str, **more: Any) -> S3Export:
        place = ExportPrefix(address, server.endpoint, server.access_key, server.secret_key, **more)
        return S3Export(place, pause=lambda _: None)

    return opened


def folder_of(files: dict[str, bytes], root: Path) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def read(
    place: Path | ExportSource, scratch: Path, first: date, last: date
) -> tuple[list[Trace], list[Score], dict[str, int], dict[str, int]]:
    reader = ExportReader(place, scratch, lambda *_: ("direction-it", "stamp"), b"k")
    report = ReadReport()
    days = [first + timedelta(days=k) for k in range((last - first).days + 1)]
    traces = [trace for _, rows in reader.trace_days(days, report) for trace in rows]
    scores, seen = reader.read_scores(first, last)
    return traces, scores, report.totals(first, last), seen.totals(first, last)


def recordings() -> dict[str, bytes]:
    """Every form that Langfuse writes, in folders, with Parquet made of the same rows."""
    found = {f"{path.name[:5]}/{path.name}": path.read_bytes() for path in sorted(RECORDINGS.glob("*.gz"))}
    table = pa.Table.from_pylist([
        {"id": f"p{n}", "trace_id": f"pt{n}", "type": "GENERATION", "start_time": "2026-11-30 10:00:00.000",
         "input": "Quelle franchise ?", "output": "150 €", "name": "litellm"}
        for n in range(5)
    ])  # fmt: skip
    whole = io.BytesIO()
    pq.write_table(table, whole)
    plain = {name.removesuffix(".gz"): gzip.decompress(content) for name, content in found.items()}
    return {**found, **{f"plain/{name}": c for name, c in plain.items()}, "parquet/rows.parquet": whole.getvalue()}


def test_every_form_gives_the_same_as_a_folder(put: Put, source: Callable[..., S3Export], tmp_path: Path) -> None:
    files = recordings() | {"blob/manifests/x.json": b"{}", "truth.csv": b"no,rows", "notes.txt": b"no rows"}
    address = put(files)
    wanted = read(folder_of(files, tmp_path / "folder"), tmp_path / "a", RECORDED, RECORDED)
    found = read(source(address), tmp_path / "b", RECORDED, RECORDED)
    assert found == wanted
    assert len(found[0]) > 50
    assert found[1]
    assert any(trace.trace_id == "pt3" for trace in found[0])
    # nothing of the traces stays on disk
    assert [path for path in (tmp_path / "b").rglob("*") if path.is_file()] == []


def test_the_shipped_month_gives_the_same_through_the_settings(
    put: Put, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = ExportReader(SAMPLE, tmp_path, lambda *_: ("d", "s"), b"k").files()
    files = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in shipped}
    address = put({f"2026/{name}": content for name, content in files.items()})
    for name, value in {
        "LANGFUSE_EXPORT": address, "S3_ENDPOINT": server.endpoint, "S3_ACCESS_KEY": server.access_key,
        "S3_SECRET_KEY": server.secret_key, "COMPLIANCE_HOME": str(tmp_path / "home"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    resource_ = from_env()["source"]
    assert isinstance(resource_, TraceSourceResource)
    assert (resource_.export, resource_.synthetic) == (address, False)
    from compliance_guardrails.policy import load_policy

    with resource_.reader(load_policy()) as reader:
        report = ReadReport()
        found = sum(map(len, reader.trace_chunks(FIRST, LAST, report)))
    folder = read(folder_of(files, tmp_path / "folder"), tmp_path / "a", FIRST, LAST)
    assert found == len(folder[0]) > 1000
    assert report.totals(FIRST, LAST) == folder[2]
    probe = next(one for one in doctor._disk(os.environ, utc_now()) if one.name == "traces")
    seen = carry_out(probe)
    assert seen.state is State.OK
    assert f"{len(files)} objet(s)" in seen.line_fr


def test_a_prefix_is_a_folder_or_one_object(put: Put, source: Callable[..., S3Export]) -> None:
    address = put({"a/rows.jsonl": b"{}", "ab/rows.jsonl": b"{}", "a/deep/er.csv.gz": b""})
    keys = [one.key.rpartition("a/")[2] for one in source(f"{address}/a").objects()]
    assert keys == ["deep/er.csv.gz", "rows.jsonl"]
    assert len(source(f"{address}/a/").objects()) == 2
    assert len(source(f"{address}/a/rows.jsonl").objects()) == 1
    with pytest.raises(ExportError, match="aucun fichier d'export"):
        source(f"{address}/nowhere").objects()


class Cut:
    """An answer of the store whose connection is lost after some bytes."""

    def __init__(self, answer: Any, after: int) -> None:
        self.answer, self.after = answer, after

    def stream(self, _: int) -> Iterator[bytes]:
        yield self.answer.read(self.after)
        raise urllib3.exceptions.ProtocolError("reset")

    def close(self) -> None:
        self.answer.close()

    def release_conn(self) -> None:
        self.answer.release_conn()


def cutting(export: S3Export, after: int, asked: list[int]) -> None:
    """From now on every connection is lost after `after` bytes; `asked` notes where each began."""
    real = export._client.get_object

    def get_object(*arguments: Any, offset: int = 0, **more: Any) -> Cut:
        asked.append(offset)
        return Cut(real(*arguments, offset=offset, **more), after)

    export._client.get_object = get_object  # type: ignore[method-assign]


def test_a_cut_connection_goes_on_where_it_stood(put: Put, source: Callable[..., S3Export], tmp_path: Path) -> None:
    name = "batch-events.jsonl.gz"
    files = {name: (RECORDINGS / name).read_bytes()}
    export, asked = source(put(files)), list[int]()
    cutting(export, 4000, asked)
    with export.opened(tmp_path) as (file,):
        assert file.path.read_bytes() == files[name]
        assert file.shown.endswith(f"/{name}")
    assert asked == list(range(0, len(files[name]), 4000))


def test_an_object_that_stays_short_is_refused_in_one_line(
    put: Put, source: Callable[..., S3Export], tmp_path: Path
) -> None:
    name = "batch-events.jsonl.gz"
    export, asked = source(put({name: (RECORDINGS / name).read_bytes()})), list[int]()
    cutting(export, 0, asked)
    with pytest.raises(ExportError, match=rf"{name} : objet tronqué \(0 octets reçus sur \d+\)") as raised:
        read(export, tmp_path, RECORDED, RECORDED)
    assert len(asked) == 4
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [("batch-events.jsonl.gz", "archive gzip tronquée"), ("rows.parquet", "Parquet illisible ou tronqué")],
)
def test_an_object_that_was_stored_truncated_is_named(
    put: Put, source: Callable[..., S3Export], tmp_path: Path, name: str, said: str
) -> None:
    whole = {path.rpartition("/")[2]: content for path, content in recordings().items()}[name]
    address = put({name: whole[: len(whole) // 2]})
    with pytest.raises(ExportError, match=f"^{address}/{name} : .*{said}"):
        read(source(address), tmp_path, RECORDED, RECORDED)


def test_an_object_replaced_meanwhile_is_never_mixed(put: Put, source: Callable[..., S3Export], tmp_path: Path) -> None:
    name = "batch-events.jsonl.gz"
    content = (RECORDINGS / name).read_bytes()
    export = source(put({name: content}))
    (one,) = export.objects()
    part = tmp_path / f"{one.name}.part"
    part.write_bytes(content[:1000])
    put({name: content[::-1]})
    with pytest.raises(ExportError, match="objet remplacé ou retiré pendant la lecture"):
        export._fetch(tmp_path, one)
    assert part.read_bytes() == content[:1000]


CHILD = """
import os, sys
from datetime import date
from pathlib import Path
from compliance_pipelines.adapters import langfuse_export_s3 as s3
from compliance_pipelines.adapters.langfuse_export import ExportReader, ReadReport
from compliance_pipelines.adapters.langfuse_export_place import ExportPrefix

address, endpoint, access, secret, scratch, pause = sys.argv[1:]
s3._PIECE = 2000
export = s3.S3Export(ExportPrefix(address, endpoint, access, secret))
fetch = export._fetch
def told(folder, one):
    path = fetch(folder, one)
    # in one piece, since several are told of at once
    os.write(1, b"object" + bytes([10]))
    import time; time.sleep(float(pause))
    return path
export._fetch = told
asked = []
real = export._client.get_object
export._client.get_object = lambda *a, **k: asked.append(1) or real(*a, **k)
day, report = date(2026, 11, 30), ReadReport()
rows = [t for c in ExportReader(export, Path(scratch), lambda *_: ("d", "s"), b"k").trace_chunks(day, day, report) for t in c]
for row in sorted(rows, key=lambda t: t.trace_id):
    print("trace", row.trace_id, row.row_digest)
print("asked", len(asked), flush=True)
"""  # noqa: E501  a program


def test_a_killed_read_uses_what_it_had_fetched(put: Put, server: S3Server, tmp_path: Path) -> None:
    files = recordings()
    address = put(files)

    def start(scratch: Path, pause: float) -> subprocess.Popen[str]:
        settings_ = [address, server.endpoint, server.access_key, server.secret_key, str(scratch), str(pause)]
        root = str(Path(__file__).parents[2])
        command = [sys.executable, "-c", CHILD, *settings_]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": root})

    whole, _ = start(tmp_path / "whole", 0).communicate(timeout=120)
    for objects in (1, 5, 9):
        with start(tmp_path / "killed", 0.05) as child:
            assert child.stdout is not None
            for number, line in enumerate(child.stdout, start=1):
                assert line.startswith("object")
                if number == objects:
                    child.send_signal(signal.SIGKILL)
                    break
    last, _ = start(tmp_path / "killed", 0).communicate(timeout=120)
    rows = [line for line in whole.splitlines() if line.startswith("trace")]
    assert len(rows) > 50
    assert [line for line in last.splitlines() if line.startswith("trace")] == rows
    asked = int(last.splitlines()[-1].split()[1])
    assert asked <= len(files) - 9
    assert not list((tmp_path / "killed").glob("read-*"))


def test_a_large_object_does_not_pass_through_memory(put: Put, source: Callable[..., S3Export], tmp_path: Path) -> None:
    put({"large.jsonl": b"{}\n" * 30_000_000})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with source(put({})).opened(tmp_path) as (file,):
        assert file.path.stat().st_size == 90_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def test_errors_are_one_line_and_name_no_key(
    put: Put, server: S3Server, tmp_path: Path, source: Callable[..., S3Export]
) -> None:
    address = put({"rows.jsonl": b"{}"})
    wrong = S3Export(ExportPrefix(address, server.endpoint, "someone", "a-wrong-secret"))
    with pytest.raises(ExportError, match=r"refuse la lecture \(\w+\), vérifiez") as refused:
        read(wrong, tmp_path, RECORDED, RECORDED)
    away = S3Export(ExportPrefix(address, "http://127.0.0.1:9", server.access_key, server.secret_key))
    with pytest.raises(ExportError, match="ne répond pas") as silent:
        read(away, tmp_path, RECORDED, RECORDED)
    with pytest.raises(ExportError, match="NoSuchBucket"):
        source("s3://no-such-bucket/x").objects()
    for raised in (refused, silent):
        text = f"{raised.value} {away.place!r}"
        assert "\n" not in text
        assert "secret" not in text.replace("S3_SECRET_KEY", "")


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"LANGFUSE_EXPORT": "s3://b/x"}, "adresse illisible"),
        ({"LANGFUSE_EXPORT": "s3:///x"}, "adresse illisible"),
        ({"LANGFUSE_EXPORT": "s3://bucket/x", "S3_ENDPOINT": ""}, "S3_ENDPOINT : à renseigner"),
        ({"LANGFUSE_EXPORT": "s3://bucket/x", "S3_ENDPOINT": "minio:9000"}, "S3_ENDPOINT : attendu"),
        ({"LANGFUSE_EXPORT": "s3://bucket/x", "S3_SECRET_KEY": ""}, "S3_SECRET_KEY : à renseigner"),
    ],
)
def test_a_wrong_setting_is_named(env: dict[str, str], said: str) -> None:
    good = {"S3_ENDPOINT": "https://minio.example:9000", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "s"}
    with pytest.raises(SettingsError, match=said):
        settings(good | env)


def test_leftovers_of_another_version_are_removed(put: Put, source: Callable[..., S3Export], tmp_path: Path) -> None:
    address = put({"rows.jsonl": b"{}\n"})
    export = source(address)
    with pytest.raises(RuntimeError), export.opened(tmp_path):
        raise RuntimeError
    (folder,) = tmp_path.glob("read-s3-*")
    assert sum(path.name != "lock" for path in folder.iterdir()) == 1
    put({"rows.jsonl": b"{}\n{}\n"})
    with export.opened(tmp_path) as (file,):
        assert file.path.read_bytes() == b"{}\n{}\n"
        assert sum(path.name != "lock" for path in folder.iterdir()) == 1
    assert not folder.exists()
