"""`compliance`: the commands people type. Output is French, errors are one line, exit codes are 0, 1 or 2.

0 done or valid · 1 what was checked is not in order · 2 could not decide: bad input or an outside system unavailable.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from compliance_pipelines.core.periods import Month, PeriodError
from compliance_pipelines.core.ports import Archive

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
report_app = typer.Typer(no_args_is_help=True, help="Le rapport mensuel : construire, lister, extraire, vérifier.")
app.add_typer(report_app, name="report")
out = Console(highlight=False, soft_wrap=True)

MonthArgument = Annotated[str, typer.Argument(metavar="AAAA-MM", help="Le mois, par exemple 2026-06.")]
DEMO_MONTH = "2026-06"


@app.command()
def demo(month: Annotated[str, typer.Option(help="Mois de l'échantillon livré.")] = DEMO_MONTH) -> None:
    """Faire tourner tout le dispositif sur l'échantillon livré (synthétique) et montrer le résultat."""
    from compliance_pipelines import demo as demo_run

    demo_run.run(Month.parse(month), out)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Résultat en JSON.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Essayer aussi les dépôts (objet verrouillé 5 min).")] = False,
) -> None:
    """Essayer chaque connexion et chaque droit configurés, et dire quoi faire."""
    from compliance_pipelines import doctor as checks

    found = checks.examine(write=write)
    if as_json:
        out.print_json(json.dumps(checks.as_json(found), ensure_ascii=False))
    else:
        for line in checks.lines_fr(found):
            out.print(escape(line))
    raise typer.Exit(checks.exit_code(found))


@report_app.command("build")
def build(
    month: MonthArgument,
    reason: Annotated[str, typer.Option(help="Motif, inscrit au manifeste d'une révision.")] = "",
    cutoff: Annotated[str, typer.Option(help="Arrêté des données d'une révision (date ISO avec fuseau).")] = "",
    nights: Annotated[bool, typer.Option(help="Calculer d'abord les nuits du mois.")] = False,
) -> None:
    """Construire le rapport d'un mois et l'archiver."""
    from compliance_pipelines import demo as demo_run

    demo_run.build(_past_month(month), out, reason=reason, cutoff=_cutoff(cutoff), nights=nights)


@report_app.command("list")
def list_reports() -> None:
    """Lister les rapports archivés, dans l'ordre de l'archive."""
    entries = _archive().list_revisions()
    if not entries:
        out.print("Aucun rapport archivé.")
    newest = {entry.month: entry.revision for entry in entries}
    for entry in entries:
        state = "en vigueur" if newest[entry.month] == entry.revision else "remplacée"
        out.print(
            f"{entry.month}  révision {entry.revision}  {state:<10}  sha256 {entry.pdf.sha256[:16]}…  "
            f"conservé jusqu'au {entry.retain_until_at:%Y-%m-%d}"
        )


@report_app.command("get")
def get(
    month: MonthArgument,
    to: Annotated[Path, typer.Option("--to", help="Dossier où écrire.")] = Path(),
    revision: Annotated[int | None, typer.Option(help="Révision ; la plus récente sinon.")] = None,
) -> None:
    """Extraire de l'archive le PDF d'un mois, ses données jointes et son manifeste."""
    files = _archive().read(str(Month.parse(month)), revision)
    to.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (to / name).write_bytes(content)
        out.print(str(to / name))


@report_app.command("verify")
def verify(
    subject: Annotated[str, typer.Argument(metavar="AAAA-MM|FICHIER", help="Un mois archivé ou un PDF reçu.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Vérifier toute l'archive.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Résultat en JSON.")] = False,
) -> None:
    """Vérifier un rapport depuis la seule archive : octets, chiffres, manifeste, chaîne, conservation."""
    from compliance_pipelines.core.verify import verify_all, verify_file, verify_month
    from compliance_pipelines.resources import verification_tools

    archive, tools = _archive(), verification_tools()
    if everything:
        found = verify_all(archive, tools)
    elif Path(subject).is_file():
        found = (verify_file(archive, Path(subject).read_bytes(), Path(subject).name, tools),)
    else:
        found = (verify_month(archive, str(Month.parse(subject)), tools),)
    if as_json:
        out.print_json(json.dumps([one.as_json() for one in found], ensure_ascii=False))
    else:
        for one in found:
            for line in one.lines_fr():
                out.print(escape(line))
    raise typer.Exit(max((one.exit_code for one in found), default=0))


def _past_month(text: str) -> Month:
    from compliance_pipelines.resources import utc_now

    month = Month.parse(text)
    if month.end > utc_now():
        raise PeriodError(f"le mois {month} n'est pas terminé : son rapport se construit après le {month.days()[-1]}")
    return month


def _cutoff(text: str) -> str:
    if text:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise PeriodError(f"--cutoff « {text[:40]} » illisible : attendu une date ISO avec fuseau horaire")
    return text


def _archive() -> Archive:
    from compliance_pipelines.resources import archive_from_env

    return archive_from_env()


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"compliance : {message}\n")
    raise SystemExit(2)


def main() -> None:
    """Entry point: known failures become one line and exit code 2."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    import warnings

    warnings.simplefilter("ignore")
    from compliance_guardrails.policy import PolicyError

    from compliance_pipelines.core.evidence import EvidenceError
    from compliance_pipelines.core.ports import ArchiveUnavailableError
    from compliance_pipelines.resources import SettingsError
    from compliance_pipelines.runs import RunFailedError

    try:
        app()
    except (PolicyError, PeriodError, EvidenceError, ArchiveUnavailableError, SettingsError, RunFailedError) as known:
        _refuse(str(known))
    except OSError as failed:
        _refuse(f"{failed.filename or 'système'} : {failed.strerror or type(failed).__name__}")
