"""Manifest, canonical form, chain, decision and retention date: tables of what holds and of what is
refused.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance_pipelines.core.evidence import (
    DecisionKind,
    EvidenceError,
    Manifest,
    Rendered,
    build_manifest,
    canonical_json,
    decide,
    pdf_name,
    read_manifest,
    require_month,
    sha256,
    utc_text,
)
from compliance_pipelines.core.evidence_chain import (
    StoredFile,
    broken_links,
    check_new,
    find_revision,
    read_chain,
    read_entry,
    seal,
)
from compliance_pipelines.core.evidence_manifest import read_canonical
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import BUILT_AT, ROWS, inputs

RENDERED = Rendered(pdf_unsigned=b"%PDF-1", pdf_signed=None, pages=3, attachments={"figures.json": b"{}\n"})


def manifest(previous: tuple[Manifest, ...] = (), month: str = "2026-06", n: int = 1, reason: str = "x") -> Manifest:
    rows = ((*ROWS[0][:2], n, *ROWS[0][3:]),)
    facts = inputs(month, rows)
    return build_manifest(decide(previous, month, facts.digest), facts, RENDERED, reason=reason, built_at=BUILT_AT)


def entry_of(item: Manifest):
    files = [
        StoredFile(name=name, key=f"k/{name}", version_id=None, sha256=digest, size=1)
        for name, digest in {**item.expected_files, "manifest.json": item.sha256}.items()
    ]
    return seal(item, files, retain_until(BUILT_AT, 7), "COMPLIANCE")


# ---- canonical form


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [True, None, "é\u202f"]}, '{"a":[true,null,"é\u202f"],"b":1}\n'),
        ({}, "{}\n"),
        ({"A": 1, "a": 2, "Z": 3}, '{"A":1,"Z":3,"a":2}\n'),
        ({"n": 10**30}, '{"n":1000000000000000000000000000000}\n'),
    ],
)
def test_one_byte_form(value: object, expected: str) -> None:
    assert canonical_json(value) == expected.encode()


@pytest.mark.parametrize("value", [{"a": 0.1}, {"a": [float("nan")]}, {1: 2}, {"a": b"x"}, {"a": "\ud800"}])
def test_what_has_no_certain_byte_form_is_refused(value: object) -> None:
    with pytest.raises(EvidenceError):
        canonical_json(value)


def test_too_deep_is_refused_without_a_traceback() -> None:
    deep: dict = {}
    for _ in range(2000):
        deep = {"a": deep}
    with pytest.raises(EvidenceError):
        canonical_json(deep)
    with pytest.raises(EvidenceError):
        read_canonical(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "x")


@pytest.mark.parametrize(
    "content",
    [
        b'{"a":1}',  # no newline
        b'{"a": 1}\n',  # a space
        b'{"b":1,"a":1}\n',  # order
        b'{"a":1,"a":1}\n',  # twice the same key
        b'{"a":1}\n\n',
        b'{"a":"\\u00e9"}\n',  # another spelling of é
        b'{"a":1.0}\n',
        b'{"a":1e3}\n',
        b'{"a":NaN}\n',
        b"[]\n",
        b"\xff\n",
        b"",
        b'{"a":' + b"9" * 5000 + b"}\n",
        b"x" * 2_000_000,
    ],
)
def test_all_but_the_canonical_form_is_refused(content: bytes) -> None:
    with pytest.raises(EvidenceError, match="document : attendu"):
        read_canonical(content, "document")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.dictionaries(TEXT, st.integers() | TEXT | st.booleans() | st.none() | st.lists(TEXT, max_size=3)))
def test_canonical_json_reads_back(value: dict[str, object]) -> None:
    assert read_canonical(canonical_json(value), "x") == value


# ---- manifest


def test_the_manifest_has_exactly_the_agreed_keys_and_reads_back() -> None:
    item = manifest()
    assert set(json.loads(item.to_bytes())) == {
        "schema", "month", "revision", "reason", "input_digest", "pdf", "attachments", "data",
        "policy_digest", "code_version", "judge", "window", "scheduled_at", "built_at",
        "previous", "chain_index",
    }  # fmt: skip
    assert read_manifest(item.to_bytes()) == item
    assert item.sha256 == sha256(item.to_bytes())
    assert item.recomputed_input_digest == item.input_digest


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"month": "2026-13"}, "month"),
        ({"month": "2026-06\n"}, "month"),
        ({"revision": 0}, "revision"),
        ({"revision": True}, "revision"),
        ({"revision": "1"}, "revision"),
        ({"input_digest": "A" * 64}, "input_digest"),
        ({"built_at": "2026-02-31T00:00:00Z"}, "built_at"),
        ({"built_at": "2026-02-01T00:00:00"}, "built_at"),
        ({"scheduled_at": "2026-02-01T00:00:00+01:00"}, "scheduled_at"),
        ({"surprise": 1}, "surprise"),
        ({"chain_index": 3}, "document"),
        ({"attachments": [{"name": "../x", "sha256": "0" * 64}]}, "attachments.0.name"),
        ({"attachments": [{"name": "manifest.json", "sha256": "0" * 64}]}, "document"),
        ({"attachments": [{"name": n, "sha256": "0" * 64} for n in ("b", "a")]}, "document"),
        ({"revision": 2, "reason": None}, "document"),
        ({"revision": 2, "reason": "  "}, "document"),
        ({"schema": "compliance-manifest/2"}, "schema"),
    ],
)
def test_a_manifest_that_is_not_one_is_refused_by_key(change: dict[str, object], key: str) -> None:
    value = {**json.loads(manifest().to_bytes()), **change}
    with pytest.raises(EvidenceError) as caught:
        read_manifest(canonical_json(value))
    assert str(caught.value).startswith(f"manifeste : {key}")
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_refused() -> None:
    value = json.loads(manifest().to_bytes())
    for key in value:
        if key != "schema":
            with pytest.raises(EvidenceError, match="manifeste"):
                read_manifest(canonical_json({name: item for name, item in value.items() if name != key}))


def test_the_input_digest_ignores_order_and_clock_but_no_input() -> None:
    facts = inputs()
    one, two = facts.data[0], facts.data[0].model_copy(update={"asset": "evaluation/neutrality"})
    both = replace(facts, data=(one, two))
    assert both.digest == replace(facts, data=(two, one)).digest
    shifted = facts.scheduled_at.astimezone(timezone(timedelta(hours=2)))
    assert replace(facts, scheduled_at=shifted).digest == facts.digest
    changed = [
        replace(facts, data=()),
        replace(facts, policy_digest="0" * 64),
        replace(facts, code_version="0.1.1"),
        replace(facts, judge=facts.judge.model_copy(update={"digest": "d"})),
        replace(facts, window=facts.window.model_copy(update={"timezone": "UTC"})),
        replace(facts, scheduled_at=facts.scheduled_at + timedelta(seconds=1)),
    ]
    digests = {facts.digest, *(item.digest for item in changed)}
    assert len(digests) == 1 + len(changed)


# ---- decision


def test_first_identical_revision() -> None:
    first = decide((), "2026-06", inputs().digest)
    assert (first.kind, first.revision, first.chain_index, first.previous) == (DecisionKind.FIRST, 1, 0, None)
    assert not first.reason_required
    one = manifest()
    again = decide((one,), "2026-06", one.input_digest)
    assert (again.kind, again.revision, again.chain_index, again.archived) == (
        DecisionKind.IDENTICAL,
        1,
        0,
        one,
    )
    same_bytes = decide((one,), "2026-06", one.input_digest, one.pdf.sha256_unsigned)
    assert same_bytes.kind is DecisionKind.IDENTICAL
    other_bytes = decide((one,), "2026-06", one.input_digest, "0" * 64)
    changed = decide((one,), "2026-06", "0" * 64, one.pdf.sha256_unsigned)
    for decision in (other_bytes, changed):
        assert (decision.kind, decision.revision, decision.chain_index) == (DecisionKind.REVISION, 2, 1)
        assert decision.reason_required
        assert decision.previous is not None
        assert decision.previous.manifest_sha256 == one.sha256


def test_the_chain_runs_over_months_in_archive_order() -> None:
    june = manifest()
    may = manifest((june,), "2026-05")
    revised = manifest((june, may), "2026-06", n=2)
    assert (may.revision, may.chain_index, revised.revision, revised.chain_index) == (1, 1, 2, 2)
    assert revised.previous is not None
    assert (revised.previous.month, revised.previous.manifest_sha256) == ("2026-05", may.sha256)
    back = decide((june, may, revised), "2026-06", june.input_digest)
    assert (back.kind, back.revision) == (DecisionKind.REVISION, 3)  # going back is a change as well


def test_a_revision_needs_a_reason_and_an_identical_run_makes_no_manifest() -> None:
    one = manifest()
    facts = inputs()
    revision = decide((one,), "2026-06", facts.digest)
    for reason in (None, "", "  "):
        with pytest.raises(EvidenceError, match="motif"):
            build_manifest(revision, facts, RENDERED, reason=reason, built_at=BUILT_AT)
    with pytest.raises(EvidenceError, match="aucune nouvelle version"):
        build_manifest(decide((one,), "2026-06", one.input_digest), facts, RENDERED, reason="x", built_at=BUILT_AT)
    with pytest.raises(EvidenceError, match="reason"):
        build_manifest(revision, facts, RENDERED, reason="x" * 501, built_at=BUILT_AT)


@pytest.mark.parametrize(
    "month", ["2026-6", "2026-00", "2026-13", "26-06", "2026-06\n", "２０２６-06", "", "../../x", "0000-01"]
)
def test_what_is_no_month(month: str) -> None:
    with pytest.raises(EvidenceError, match="AAAA-MM"):
        require_month(month)


def test_names_and_times() -> None:
    assert pdf_name("2026-06") == "bias-report-2026-06.pdf"
    assert utc_text(datetime(2026, 7, 1, 6, tzinfo=timezone(timedelta(hours=2)))) == "2026-07-01T04:00:00Z"
    with pytest.raises(EvidenceError, match="fuseau"):
        utc_text(datetime(2026, 7, 1))  # noqa: DTZ001


# ---- chain


def test_an_entry_is_sealed() -> None:
    entry = entry_of(manifest())
    assert read_entry(entry.to_bytes(), "x") == entry
    for field, value in (
        ("retain_until", "2030-01-01T00:00:00Z"),
        ("mode", "GOVERNANCE"),
        ("month", "2026-07"),
    ):
        with pytest.raises(EvidenceError):
            read_entry(canonical_json({**json.loads(entry.to_bytes()), field: value}), "x")


@settings(max_examples=60)
@given(st.data())
def test_any_changed_byte_of_an_index_is_refused(data: st.DataObject) -> None:
    june = manifest()
    content = b"".join(entry_of(item).to_bytes() for item in (june, manifest((june,), "2026-07")))
    position = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != content[position]))
    with pytest.raises(EvidenceError):
        read_chain(content[:position] + bytes([byte]) + content[position + 1 :])


@pytest.mark.parametrize("revision", [1, 3])
def test_a_revision_number_that_is_taken_or_leaves_a_gap_is_not_archived(revision: int) -> None:
    first = manifest()
    second = manifest((first,), n=2).model_copy(update={"revision": revision})
    files = {"manifest.json": second.to_bytes(), pdf_name("2026-06"): b"%PDF-1", "figures.json": b"{}\n"}
    with pytest.raises(EvidenceError, match=r"existe déjà|attendu la révision 2"):
        check_new([entry_of(first)], "2026-06", revision, files)


def test_a_document_that_is_too_long_is_not_parsed() -> None:
    with pytest.raises(EvidenceError, match="attendu moins de 1000000 octets"):
        read_canonical(b'{"a":"' + b"x" * 1_000_000 + b'"}\n', "document")


def test_links() -> None:
    june = manifest()
    may = manifest((june,), "2026-05")
    revised = manifest((june, may), "2026-06", n=2)
    chain = tuple(entry_of(item) for item in (june, may, revised))
    assert broken_links(chain) == ()
    assert broken_links(()) == ()
    for wrong in (chain[1:], (chain[0], chain[2]), (chain[1], chain[0], chain[2]), (*chain, chain[2])):
        assert broken_links(wrong)
    assert find_revision(chain, "2026-06", None).revision == 2
    assert find_revision(chain, "2026-06", 1).chain_index == 0
    for month, revision in (("2026-06", 3), ("2026-04", None)):
        with pytest.raises(EvidenceError, match=month):
            find_revision(chain, month, revision)


# ---- retention


@pytest.mark.parametrize(
    ("start", "years", "expected"),
    [
        (date(2026, 7, 1), 7, "2033-07-02"),
        (date(2028, 2, 29), 7, "2035-03-02"),  # no 29 February 2035
        (date(2028, 2, 29), 4, "2032-03-01"),  # 29 February 2032 exists
        (date(2096, 2, 29), 4, "2100-03-02"),  # 2100 is no leap year
        (date(2026, 12, 31), 1, "2028-01-01"),
        (datetime(2026, 7, 1, 23, 59, 59, tzinfo=UTC), 7, "2033-07-02"),
        (datetime(2026, 7, 1, 1, tzinfo=timezone(timedelta(hours=2))), 7, "2033-07-01"),  # 30 June in UTC
    ],
)
def test_retention_never_falls_short(start: date, years: int, expected: str) -> None:
    until = retain_until(start, years)
    assert until == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.integers(1, 20))  # noqa: DTZ001
def test_retention_is_at_least_the_promised_years(start: datetime, years: int) -> None:
    assert retain_until(start, years) - start > timedelta(days=365 * years)
    assert retain_until(start, years) - start <= timedelta(days=366 * years + 2)


@pytest.mark.parametrize(
    ("start", "years"),
    [
        (date(2026, 1, 1), 0),
        (date(2026, 1, 1), -7),
        (date(9999, 1, 1), 7),
        (datetime(2026, 1, 1), 7),  # noqa: DTZ001
    ],
)
def test_what_is_no_retention(start: date, years: int) -> None:
    with pytest.raises(EvidenceError, match="conservation"):
        retain_until(start, years)
