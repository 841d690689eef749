"""What `compliance demo` and `compliance report build` do and show: runs through Dagster, progress, a summary.

The summary is read from the stored tables and the archive, never from memory of the run.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from compliance_pipelines import runs
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.evidence import pdf_name
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_shares import Share
from compliance_pipelines.core.tables import records
from compliance_pipelines.core.verify import head_lines_fr, verify_month
from compliance_pipelines.reporting import MONTHLY_TABLE, bundle_folder
from compliance_pipelines.resources import archive_from_env, verification_tools
from compliance_pipelines.settings import settings

_SMALLEST = 5


def run(month: Month, out: Console) -> None:
    """The whole promise on the shipped sample: nights, report, archive, verification."""
    found = settings()
    what = "échantillon synthétique livré" if found.synthetic else "export configuré"
    out.print(f"[bold]compliance demo[/] · {month} · {what}\n")
    build(month, out, reason="", cutoff="", nights=True)
    out.print(f"\nInterface : [bold]make ui[/]   ·   Vérifier : [bold].venv/bin/compliance report verify {month}[/]")


def build(month: Month, out: Console, *, reason: str, cutoff: str, nights: bool) -> None:
    """Run the month through Dagster and print what came of it."""
    home = settings().home
    runs.dagster_home(home)
    days = len(runs.followed_days(month)) if nights else 0
    with _progress(out) as bars:
        if nights:
            _run_nights(month, days, bars)
        task = bars.add_task("rapport et archive", total=2)
        runs.run_report(month, lambda *_: bars.advance(task), reason=reason, cutoff=cutoff)
        bars.update(task, completed=2)
    out.print()
    out.print(_table(month))
    _evidence(month, out)


def _run_nights(month: Month, days: int, bars: Progress) -> None:
    if runs.nights_unchanged(month):
        bars.add_task("nuits inchangées, reprises", total=days, completed=days)
        return
    tasks: dict[str, TaskID] = {}

    def advance(asset: str, _: str) -> None:
        if asset not in tasks:
            tasks[asset] = bars.add_task(asset, total=days)
        bars.advance(tasks[asset])

    runs.run_nights(month, advance)


@contextmanager
def _progress(out: Console) -> Generator[Progress]:
    with Progress(
        TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=out
    ) as bars:
        yield bars


def _table(month: Month) -> Table:
    store = TableStore(settings().home / "data")
    rows: list[Aggregate] = records(store.read(MONTHLY_TABLE, month.first_day.isoformat()), Aggregate)
    by_department: dict[str, dict[str, Aggregate]] = {}
    for row in rows:
        by_department.setdefault(row.department, {})[row.metric] = row
    judged = any("judge_neutrality" in metrics for metrics in by_department.values())
    by_whom = "juge LLM" if judged else "évaluateur lexical, indicatif, sans LLM"
    table = Table(
        title=f"{month} par direction (neutralité : {by_whom})",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        caption="avis : part des réponses notées ou relues par une personne",
        caption_justify="left",
    )
    table.add_column("direction", no_wrap=True)
    for header in ("échanges", "neutralité", "citations", "avis"):
        table.add_column(header, justify="right", no_wrap=True)
    for department, metrics in by_department.items():
        neutral = metrics.get("judge_neutrality") or metrics["lexical_neutrality"]
        cited, seen = metrics["citation_compliance"], metrics["human_oversight"]
        table.add_row(
            department.removeprefix("direction-"),
            str(neutral.n_traces),
            _cell(neutral, _number(neutral.mean)),
            _cell(cited, _share(cited)),
            _share(seen) if seen.n_scored >= _SMALLEST else "n. c.",
        )
    return table


def _cell(row: Aggregate, value: str) -> str:
    # as in the report, a mean over a handful of exchanges is not shown
    shown = f"{value} (N {row.n_scored})" if not 0 < row.n_scored < _SMALLEST else f"n. c. (N < {_SMALLEST})"
    return f"{shown}\n[dim]{row.verdict.value}[/]"


def _evidence(month: Month, out: Console) -> None:
    home = settings().home
    archive = archive_from_env()
    verification = verify_month(archive, str(month), verification_tools())
    receipt = archive.receipt(str(month))
    out.print(f"\nVérification de l'archive : [bold]{verification.verdict_fr}[/], révision {receipt.revision}")
    if receipt.mode.startswith("AUCUN"):
        out.print("L'archive en répertoire ne verrouille rien : en production, S3 avec Object Lock COMPLIANCE.")
    if verification.head is not None:
        for line in head_lines_fr(verification.head):
            out.print(line)
    out.print(f"PDF : [bold]{bundle_folder(home, month) / pdf_name(str(month))}[/]")


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}".replace(".", ",")


def _share(row: Aggregate) -> str:
    # as in the report, a rate that gives back a handful of exchanges is a bound
    found = Share(0 if row.mean is None else round(row.mean * row.n_scored), row.n_scored, _SMALLEST)
    # "<20,9 %" without the first space: the table has 80 columns
    return found.text if found.hidden is None else "".join(found.text.split(maxsplit=1))
