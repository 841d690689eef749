"""`compliance report …` and `compliance purge`: the commands around the monthly report and what is kept for it.

Output is French, known failures are raised and become one line in `cli.main`; exit codes are 0, 1 or 2.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.periods import Month, PeriodError
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.report_summary import JSON_NAME, summary_pdf_name

report_app = typer.Typer(
    no_args_is_help=True, help="Le rapport mensuel : construire, lister, extraire, résumer, expliquer, vérifier."
)
out = Console(highlight=False, soft_wrap=True)

MonthArgument = Annotated[str, typer.Argument(metavar="AAAA-MM", help="Le mois, par exemple 2026-06.")]
ToOption = Annotated[Path, typer.Option("--to", help="Dossier où écrire.")]
RevisionOption = Annotated[int | None, typer.Option(help="Révision ; la plus récente sinon.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Résultat en JSON.")]


@report_app.command("build")
def build(
    month: MonthArgument,
    reason: Annotated[str, typer.Option(help="Motif, inscrit au manifeste d'une révision.")] = "",
    cutoff: Annotated[str, typer.Option(help="Arrêté des données d'une révision (date ISO avec fuseau).")] = "",
    nights: Annotated[bool, typer.Option(help="Calculer d'abord les nuits du mois.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Montrer aussi la synthèse d'une page.")] = False,
) -> None:
    """Construire le rapport d'un mois et l'archiver."""
    from compliance_pipelines import demo as demo_run
    from compliance_pipelines.reporting import bundle_folder
    from compliance_pipelines.resources import settings

    found = _past_month(month)
    demo_run.build(found, out, reason=reason, cutoff=_cutoff(cutoff), nights=nights)
    if summary:
        folder = bundle_folder(settings().home, found)
        out.print(f"Synthèse : [bold]{escape(str(folder / summary_pdf_name(str(found))))}[/]")
        out.print(f"Ses chiffres : {escape(str(folder / JSON_NAME))}")


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
def get(month: MonthArgument, to: ToOption = Path(), revision: RevisionOption = None) -> None:
    """Extraire de l'archive le PDF d'un mois, ses données jointes et son manifeste."""
    _write(to, _archive().read(str(Month.parse(month)), revision))


@report_app.command("summary")
def summarise(
    month: MonthArgument, to: ToOption = Path(), revision: RevisionOption = None, as_json: JsonOption = False
) -> None:
    """Extraire la synthèse d'une page (PDF) et ses chiffres (JSON), tels qu'archivés avec le rapport."""
    files = _archive().read(str(Month.parse(month)), revision)
    names = (summary_pdf_name(str(Month.parse(month))), JSON_NAME)
    if not all(name in files for name in names):
        raise EvidenceError(f"{month} : cette révision a été archivée sans synthèse (compliance report build {month})")
    if as_json:
        out.print_json(files[JSON_NAME].decode("utf-8"))
    else:
        _write(to, {name: files[name] for name in names})


@report_app.command("explain")
def explain(
    month: MonthArgument,
    department: Annotated[str, typer.Argument(metavar="DIRECTION", help="Identifiant ou nom de la direction.")],
    metric: Annotated[str, typer.Argument(metavar="MESURE", help="neutralité, citations, repère, chiffres ou avis.")],
    as_json: JsonOption = False,
) -> None:
    """D'un chiffre imprimé à ce qui le fonde : effectif, seuil, verdict, juge, politique, traces."""
    from compliance_pipelines.explain import HmacKey
    from compliance_pipelines.explain import explain as explanation
    from compliance_pipelines.resources import pseudonym_key, settings

    found = settings()
    key = HmacKey(*pseudonym_key())
    told = explanation(_archive(), found.home, found.policy_dir, Month.parse(month), (department, metric), key)
    if as_json:
        out.print_json(json.dumps(told.as_json(), ensure_ascii=False))
    else:
        for line in told.lines_fr():
            out.print(escape(line))
    raise typer.Exit(told.exit_code)


@report_app.command("verify")
def verify(
    subject: Annotated[str, typer.Argument(metavar="AAAA-MM|FICHIER", help="Un mois archivé ou un PDF reçu.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Vérifier toute l'archive.")] = False,
    as_json: JsonOption = False,
    roots: Annotated[list[Path] | None, typer.Option("--roots", help="Certificats racines (PEM ou DER).")] = None,
    published: Annotated[str, typer.Option(help="Empreinte de tête publiée, que la chaîne doit contenir.")] = "",
) -> None:
    """Vérifier un rapport depuis la seule archive : octets, chiffres, manifeste, chaîne, conservation."""
    from compliance_pipelines.core.verify import verify_all, verify_file, verify_month, verify_published
    from compliance_pipelines.resources import verification_tools

    archive, tools = _archive(), verification_tools([path.read_bytes() for path in roots or ()])
    if everything:
        found = verify_all(archive, tools)
    elif Path(subject).is_file():
        found = (verify_file(archive, Path(subject).read_bytes(), Path(subject).name, tools),)
    elif published and not subject:
        found = ()
    else:
        found = (verify_month(archive, str(Month.parse(subject)), tools),)
    if published:
        found = (*found, verify_published(archive, published))
    if as_json:
        out.print_json(json.dumps([one.as_json() for one in found], ensure_ascii=False))
    else:
        for one in found:
            for line in one.lines_fr():
                out.print(escape(line))
    raise typer.Exit(max((one.exit_code for one in found), default=0))


def purge(
    apply: Annotated[bool, typer.Option("--apply", help="Supprimer ; sans cela, montrer seulement.")] = False,
) -> None:
    """Supprimer tables, caches et alertes plus anciens que la politique ne le veut ; jamais l'archive."""
    from compliance_guardrails.policy import load_policy

    from compliance_pipelines.adapters import purge as keep
    from compliance_pipelines.core.periods import paris_day
    from compliance_pipelines.core.retention import purge_before
    from compliance_pipelines.resources import settings, utc_now

    found = settings()
    today = paris_day(utc_now())
    months = load_policy(found.policy_dir, at=today).thresholds.purge_months
    keep_from = purge_before(today, months)
    targets = keep.find(found.home, keep_from)
    out.print(f"Conservé : {months} mois entiers et le mois en cours, depuis le {keep_from:%d/%m/%Y}.")
    for target in targets:
        size = f", {target.size / 1e6:.1f} Mo".replace(".", ",") if target.size else ""
        out.print(f"  {escape(target.name)} : {target.pieces}{size}")
    if not targets:
        out.print("Rien à supprimer.")
    elif apply:
        keep.apply(targets)
        out.print("Supprimé. L'archive n'est pas touchée.")
    else:
        out.print("Rien n'a été supprimé : ajouter --apply. L'archive n'est jamais touchée.")


def _write(to: Path, files: dict[str, bytes]) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (to / name).write_bytes(content)
        out.print(escape(str(to / name)))


def _past_month(text: str) -> Month:
    from compliance_pipelines.core.periods import day_start
    from compliance_pipelines.resources import settings, utc_now

    month = Month.parse(text)
    first = settings().first_day
    if month.end <= day_start(first):
        raise PeriodError(f"le mois {month} précède le premier jour suivi, {first} (COMPLIANCE_FIRST_DAY)")
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
