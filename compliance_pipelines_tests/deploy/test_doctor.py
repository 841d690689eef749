"""`compliance doctor` against live stand-ins: each state of each connection, one line each, no secret in any line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from minio import Minio

from compliance_pipelines import doctor
from compliance_pipelines.adapters.doctor_finding import Finding, Probe, State, carry_out
from compliance_pipelines_tests.services.servers import weed
from compliance_pipelines_tests.services.verapdf.certificate import PASSWORD, self_signed
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.llm import LlmStub, Reply

NOW = datetime(2026, 7, 1, 4, tzinfo=UTC)
DEAD = "http://127.0.0.1:9"
Answers = dict[tuple[str, str], tuple[int, object]]


@contextmanager
def http(answers: Answers) -> Generator[tuple[str, list[tuple[str, str, bytes]]]]:
    """A loopback server with fixed answers by (method, path); it keeps what it was asked."""
    seen: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append((self.command, self.path, body))
            status, content = answers.get((self.command, self.path), (404, None))
            raw = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - names that http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def examined(tmp_path: Path, write: bool = False, **env: str) -> dict[str, Finding]:
    found = doctor.examine({"COMPLIANCE_HOME": str(tmp_path / "home"), **env}, write=write, now=NOW)
    for one in found:
        assert "\n" not in one.line_fr
        assert 10 < len(one.line_fr) <= 300
        for secret in (value for name, value in env.items() if "KEY" in name or "PASSWORD" in name):
            assert secret not in one.line_fr
    return {one.name: one for one in found}


def test_nothing_configured_is_in_order_and_says_what_serves(tmp_path: Path) -> None:
    found = examined(tmp_path)
    assert {name: one.state for name, one in found.items() if one.state is not State.DEFAULT} == {
        "réglages": State.OK,
        "dossier": State.OK,
    }
    assert doctor.exit_code(tuple(found.values())) == 0
    assert "évaluateur lexical" in found["juge"].line_fr
    assert "non signé" in found["signature"].line_fr
    assert "ne verrouille rien" in found["archive"].line_fr
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("mode", ["events_only", "dual"])
def test_langfuse_in_order(tmp_path: Path, mode: str) -> None:
    with LangfuseStandIn(mode) as server:
        found = examined(
            tmp_path,
            LANGFUSE_BASE_URL=server.url,
            LANGFUSE_PUBLIC_KEY=server.public_key,
            LANGFUSE_SECRET_KEY=server.secret_key,
        )["langfuse"]
        assert (found.state, "écriture des scores admise" in found.line_fr) == (State.OK, True), found
        assert server.scores == []
        assert server.observations == []


def test_langfuse_refuses_the_key(tmp_path: Path) -> None:
    with LangfuseStandIn() as server:
        found = examined(
            tmp_path,
            LANGFUSE_HOST=server.url,
            LANGFUSE_PUBLIC_KEY=server.public_key,
            LANGFUSE_SECRET_KEY="sk-lf-another",  # noqa: S106
        )["langfuse"]
    assert found.state is State.WRONG
    assert "LANGFUSE_PUBLIC_KEY" in found.line_fr


AWAY = [
    ("langfuse", {"LANGFUSE_BASE_URL": DEAD, "LANGFUSE_PUBLIC_KEY": "pk-x-1", "LANGFUSE_SECRET_KEY": "sk-x-1"}),
    ("juge", {"JUDGE_BASE_URL": f"{DEAD}/v1", "JUDGE_MODEL": "m"}),
    ("plongements", {"EMBEDDING_BASE_URL": f"{DEAD}/v1", "EMBEDDING_MODEL": "nomic-embed-text"}),
    ("archive", {"S3_ENDPOINT": DEAD, "S3_ACCESS_KEY": "access-x-1", "S3_SECRET_KEY": "secret-x-1"}),
    ("alertmanager", {"ALERTMANAGER_URL": DEAD}),
    ("pushgateway", {"PUSHGATEWAY_URL": DEAD}),
    ("passerelle", {"LITELLM_CI_URL": DEAD, "LITELLM_CI_KEY": "sk-ci-x-1"}),
    ("lecteur", {"EXTRACTOR_BASE_URL": f"{DEAD}/v1"}),
    ("sans masque", {"LITELLM_CI_URL": DEAD, "LITELLM_CI_UNMASKED_KEY": "sk-ci-x-2"}),
    ("interface", {"DAGSTER_UI_URL": DEAD}),
]


@pytest.mark.parametrize(("name", "env"), AWAY, ids=[name for name, _ in AWAY])
def test_a_system_that_is_away_is_exit_code_2(tmp_path: Path, name: str, env: dict[str, str]) -> None:
    found = examined(tmp_path, **env)
    assert found[name].state is State.AWAY, found[name]
    assert doctor.exit_code(tuple(found.values())) == 2


WRONG = [
    ("langfuse", {"LANGFUSE_BASE_URL": "langfuse", "LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk"}, "http"),
    ("langfuse", {"LANGFUSE_BASE_URL": DEAD, "LANGFUSE_PUBLIC_KEY": "pk"}, "LANGFUSE_SECRET_KEY"),
    ("juge", {"JUDGE_BASE_URL": DEAD}, "JUDGE_MODEL"),
    ("juge", {"JUDGE_MODEL": "m"}, "JUDGE_BASE_URL"),
    ("plongements", {"EMBEDDING_MODEL": "m"}, "EMBEDDING_BASE_URL"),
    ("alertmanager", {"ALERTMANAGER_URL": "http://u:p@host"}, "ALERTMANAGER_URL"),
    ("pushgateway", {"PUSHGATEWAY_URL": "pushgateway:9091"}, "PUSHGATEWAY_URL"),
    ("passerelle", {"LITELLM_CI_URL": "ftp://x"}, "LITELLM_CI_URL"),
    ("lecteur", {"EXTRACTOR_BASE_URL": "lecteur:11434"}, "EXTRACTOR_BASE_URL"),
    ("lecteur", {"EXTRACTOR_API_KEY": "sk-ex-x-1"}, "EXTRACTOR_BASE_URL"),
    ("sans masque", {"LITELLM_CI_UNMASKED_KEY": "sk-ci-x-2"}, "LITELLM_CI_URL"),
    (
        "sans masque",
        {"LITELLM_CI_URL": DEAD, "LITELLM_CI_KEY": "sk-ci-x-1", "LITELLM_CI_UNMASKED_KEY": "sk-ci-x-1"},
        "LITELLM_CI_UNMASKED_KEY",
    ),
    ("interface", {"DAGSTER_UI_URL": "x"}, "DAGSTER_UI_URL"),
    ("archive", {"S3_ENDPOINT": "http://u:p@x", "S3_ACCESS_KEY": "acc", "S3_SECRET_KEY": "sec"}, "S3_ENDPOINT"),
    ("réglages", {"S3_ENDPOINT": DEAD}, "S3_ACCESS_KEY"),
    # would keep the code location from loading
    ("réglages", {"UNCITED_BURST_FROM": "grafana"}, "UNCITED_BURST_FROM"),
    # a secret beside which an address was forgotten: the embedded default would serve, and nobody would know
    ("réglages", {"LANGFUSE_SECRET_KEY": "sk-x-1"}, "LANGFUSE_BASE_URL"),
    ("réglages", {"S3_SECRET_KEY": "secret-x-1"}, "S3_ENDPOINT"),
    ("réglages", {"REPORT_SIGNING_PASSWORD": "pass-x-1"}, "REPORT_SIGNING_P12"),
    ("réglages", {"LITELLM_CI_KEY": "sk-ci-x-1"}, "LITELLM_CI_URL"),
    ("dagster", {"DAGSTER_HOME": "home/dagster"}, "absolu"),
    ("pseudonymes", {"COMPLIANCE_HMAC_KEY": "short-x"}, "COMPLIANCE_HMAC_KEY"),
    ("traces", {"LANGFUSE_EXPORT": "absent"}, "LANGFUSE_EXPORT"),
    ("politique", {"COMPLIANCE_POLICY_DIR": "absent"}, "policy check"),
    ("signature", {"REPORT_SIGNING_P12": "absent.p12"}, "REPORT_SIGNING_P12"),
]


@pytest.mark.parametrize(("name", "env", "says"), WRONG, ids=[f"{name}-{says}" for name, _, says in WRONG])
def test_what_is_set_but_wrong_names_its_variable(tmp_path: Path, name: str, env: dict[str, str], says: str) -> None:
    found = examined(tmp_path, **env)
    assert found[name].state is State.WRONG, found[name]
    assert says in found[name].line_fr
    assert doctor.exit_code(tuple(found.values())) == 1


def test_the_judge_answers_and_names_its_model(tmp_path: Path) -> None:
    with LlmStub(behave=lambda _: Reply(content="oui")) as stub:
        found = examined(tmp_path, JUDGE_BASE_URL=stub.url, JUDGE_MODEL=stub.model)["juge"]
    assert (found.state, stub.model in found.line_fr) == (State.OK, True), found


@pytest.mark.parametrize(
    ("behave", "state"),
    [
        (lambda _: Reply(status=503), State.AWAY),
        (lambda _: Reply(status=429), State.AWAY),
        (lambda _: Reply(hang_up=True), State.AWAY),
        (lambda _: Reply(raw=b"<html>"), State.WRONG),
        (lambda _: Reply(content="oui", finish="length"), State.OK),
    ],
)
def test_a_judge_that_misbehaves(tmp_path: Path, behave: Callable[[object], Reply], state: State) -> None:
    with LlmStub(behave=behave) as stub:
        assert examined(tmp_path, JUDGE_BASE_URL=stub.url, JUDGE_MODEL=stub.model)["juge"].state is state


def test_a_model_the_judge_does_not_know(tmp_path: Path) -> None:
    with LlmStub() as stub:
        found = examined(tmp_path, JUDGE_BASE_URL=stub.url, JUDGE_MODEL="autre")["juge"]
    assert (found.state, "JUDGE_MODEL=autre" in found.line_fr) == (State.WRONG, True)


def test_alertmanager_pushgateway_gateway_and_interface_in_order(tmp_path: Path) -> None:
    answers: Answers = {
        ("GET", "/api/v2/status"): (200, {"versionInfo": {"version": "0.25.0"}}),
        ("POST", "/api/v2/alerts"): (200, None),
        ("GET", "/api/v1/status"): (200, {"data": {"build_information": {"version": "1.5.1"}}}),
        ("PUT", "/metrics/job/compliance_doctor"): (200, None),
        ("DELETE", "/metrics/job/compliance_doctor"): (202, None),
        ("GET", "/v1/models"): (200, {"data": [{"id": "claims-assistant"}]}),
        ("GET", "/server_info"): (200, {"dagster_version": "1.13.27"}),
    }
    with http(answers) as (url, seen):
        found = examined(
            tmp_path,
            write=True,
            ALERTMANAGER_URL=url,
            PUSHGATEWAY_URL=url,
            LITELLM_CI_URL=url,
            LITELLM_CI_KEY="sk-ci-secret",
            DAGSTER_UI_URL=url,
        )
    for name in ("alertmanager", "pushgateway", "passerelle", "interface"):
        assert found[name].state is State.OK, found[name]
    assert ("POST", "/api/v2/alerts", b"[]") in seen
    assert [(m, p) for m, p, _ in seen if p.startswith("/metrics")] == [
        ("PUT", "/metrics/job/compliance_doctor"),
        ("DELETE", "/metrics/job/compliance_doctor"),
    ]


def test_without_write_nothing_is_pushed(tmp_path: Path) -> None:
    answers: Answers = {("GET", "/api/v1/status"): (200, {"data": {"build_information": {"version": "1.5.1"}}})}
    with http(answers) as (url, seen):
        assert examined(tmp_path, PUSHGATEWAY_URL=url)["pushgateway"].state is State.OK
    assert [method for method, _, _ in seen] == ["GET"]


@pytest.mark.parametrize(("status", "state"), [(401, State.WRONG), (403, State.WRONG), (503, State.AWAY)])
def test_what_refuses(tmp_path: Path, status: int, state: State) -> None:
    answers: Answers = {
        ("GET", "/api/v2/status"): (200, {"versionInfo": {"version": "0.25.0"}}),
        ("POST", "/api/v2/alerts"): (status, None),
        ("GET", "/v1/models"): (status, {}),
    }
    with http(answers) as (url, _):
        found = examined(tmp_path, ALERTMANAGER_URL=url, LITELLM_CI_URL=url)
    assert (found["alertmanager"].state, found["passerelle"].state) == (state, state)


def test_the_gate_s_other_keys_and_addresses_are_tried_too(tmp_path: Path) -> None:
    env = {"LITELLM_CI_UNMASKED_KEY": "sk-ci-x-2", "EXTRACTOR_API_KEY": "sk-ex-x-1"}
    with http({("GET", "/v1/models"): (200, {"data": [{"id": "m"}]})}) as (url, seen):
        good = examined(tmp_path, LITELLM_CI_URL=url, EXTRACTOR_BASE_URL=f"{url}/v1", **env)
    assert (good["sans masque"].state, good["lecteur"].state) == (State.OK, State.OK)
    assert [path for _, path, _ in seen] == ["/v1/models"] * 3
    with http({("GET", "/v1/models"): (401, {})}) as (url, _):
        bad = examined(tmp_path, LITELLM_CI_URL=url, EXTRACTOR_BASE_URL=url, **env)
    for name, variable in (("sans masque", "LITELLM_CI_UNMASKED_KEY"), ("lecteur", "EXTRACTOR_API_KEY")):
        assert (bad[name].state, variable in bad[name].line_fr) == (State.WRONG, True), bad[name]


def test_another_server_at_the_address_is_not_taken_for_the_system(tmp_path: Path) -> None:
    paths = ("/api/v2/status", "/api/v1/status", "/server_info", "/api/public/health")
    with http({("GET", path): (200, ["bonjour"]) for path in paths}) as (url, _):
        found = examined(tmp_path, ALERTMANAGER_URL=url, PUSHGATEWAY_URL=url, DAGSTER_UI_URL=url)
    assert {found[n].state for n in ("alertmanager", "pushgateway", "interface")} == {State.WRONG}


def test_the_bucket_must_be_locked_and_a_put_is_read_back(tmp_path: Path) -> None:
    with weed(tmp_path / "s3") as server:
        client = Minio(
            server.endpoint.removeprefix("http://"),
            server.access_key,
            server.secret_key,
            secure=False,
            region="us-east-1",
        )
        client.make_bucket("locked", object_lock=True)
        client.make_bucket("open")
        env = {"S3_ENDPOINT": server.endpoint, "S3_ACCESS_KEY": server.access_key, "S3_SECRET_KEY": server.secret_key}
        quiet = examined(tmp_path, **env, S3_BUCKET="locked")["archive"]
        assert list(client.list_objects("locked", recursive=True)) == []
        now = doctor.utc_now()
        written = {f.name: f for f in doctor.examine({**env, "S3_BUCKET": "locked", "COMPLIANCE_HOME": str(tmp_path)},
                                                     write=True, now=now)}["archive"]  # fmt: skip
        bare = examined(tmp_path, **env, S3_BUCKET="open")["archive"]
        absent = examined(tmp_path, **env, S3_BUCKET="absent")["archive"]
        refused = examined(tmp_path, **{**env, "S3_SECRET_KEY": "another-secret"}, S3_BUCKET="locked")["archive"]
    assert (quiet.state, "dépôt non essayé" in quiet.line_fr) == (State.OK, True), quiet
    assert (written.state, "verrou relu" in written.line_fr) == (State.OK, True), written
    assert (bare.state, "sans Object Lock" in bare.line_fr) == (State.WRONG, True), bare
    assert (absent.state, "mc mb --with-lock" in absent.line_fr) == (State.WRONG, True), absent
    assert refused.state is State.WRONG, refused


def test_the_certificate_signs_or_says_why_not(tmp_path: Path) -> None:
    p12 = str(self_signed(tmp_path / "s.p12"))
    good = examined(tmp_path, REPORT_SIGNING_P12=p12, REPORT_SIGNING_PASSWORD=PASSWORD)["signature"]
    assert (good.state, "01/01/2099" in good.line_fr) == (State.OK, True), good
    bad = examined(tmp_path, REPORT_SIGNING_P12=p12, REPORT_SIGNING_PASSWORD="not-this-one")["signature"]  # noqa: S106
    assert (bad.state, "REPORT_SIGNING_PASSWORD" in bad.line_fr) == (State.WRONG, True)
    env = {"REPORT_SIGNING_P12": p12, "REPORT_SIGNING_PASSWORD": PASSWORD, "COMPLIANCE_HOME": str(tmp_path)}
    for when, word in (
        (datetime(2099, 6, 1, tzinfo=UTC), "renouvelez"),
        (datetime(2098, 12, 15, tzinfo=UTC), "expire"),
    ):
        late = {f.name: f for f in doctor.examine(env, now=when)}["signature"]
        assert (late.state, word in late.line_fr) == (State.WRONG, True), late
    stamped = examined(tmp_path, REPORT_SIGNING_P12=p12, REPORT_SIGNING_PASSWORD=PASSWORD, REPORT_TSA_URL=DEAD)
    assert stamped["signature"].state is State.AWAY


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    assert examined(tmp_path)["dossier"].state is State.WRONG


def test_telemetry_left_on_is_found(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("run_coordinator: {}\n")
    assert examined(tmp_path, DAGSTER_HOME=str(tmp_path))["dagster"].state is State.WRONG
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert examined(tmp_path, DAGSTER_HOME=str(tmp_path))["dagster"].state is State.OK


def test_a_probe_that_breaks_hides_neither_the_others_nor_a_secret() -> None:
    def broken() -> Finding:
        raise RuntimeError("sk-very-secret")

    found = carry_out(Probe("x", "X_URL", broken))
    assert found.state is State.WRONG
    assert "secret" not in found.line_fr


def test_the_command_prints_lines_or_json(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "compliance"), "doctor"]
    env = {**os.environ, "COMPLIANCE_HOME": str(tmp_path / "home"), "ALERTMANAGER_URL": DEAD}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 2
    assert "ALERTMANAGER_URL" in done.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, env=env, check=False)
    found = json.loads(done.stdout)
    assert (found["schema"], found["exit_code"], done.returncode) == ("compliance-doctor/1", 2, 2)
    assert {"name", "variable", "state", "line_fr"} == set(found["findings"][0])
