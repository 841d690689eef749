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
MAX_RECEIVED = 64 * 2**20

MonthArgument = Annotated[str, typer.Argument(metavar="AAAA-MM", help="Le mois, par exemple 2026-06.")]
ToOption = Annotated[Path, typer.Option("--to", help="Dossier où écrire.")]
RevisionOption = Annotated[int | None, typer.Option(help="Révision ; la plus récente sinon.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Résultat en JSON.")]


@report_app.command("build")
def build(
    month: MonthArgument,
    reason: Annotated[
        str, typer.Option(help="Motif d'une révision, imprimé et archivé ; sinon, ce qui a changé est dit.")
    ] = "",
    cutoff: Annotated[str, typer.Option(help="Arrêté des données d'une révision (date ISO avec fuseau).")] = "",
    nights: Annotated[bool, typer.Option(help="Calculer d'abord les nuits du mois.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Montrer aussi la synthèse d'une page.")] = False,
) -> None:
    """Construire le rapport d'un mois et l'archiver."""
    from compliance_pipelines import demo as demo_run
    from compliance_pipelines.reporting import bundle_folder
    from compliance_pipelines.settings import settings

    found = _past_month(month)
    moment = _cutoff(cutoff)
    asked = bool(reason or moment)
    before = len(_archive().list_revisions()) if asked else 0
    demo_run.build(found, out, reason=reason, cutoff=moment, nights=nights)
    if asked and len(_archive().list_revisions()) == before:
        out.print("Aucune révision ajoutée : rien n'a changé depuis la dernière, le motif n'est pas archivé.")
    if summary:
        folder = bundle_folder(settings().home, found)
        out.print(f"Synthèse : [bold]{escape(str(folder / summary_pdf_name(str(found))))}[/]")
        out.print(f"Ses chiffres : {escape(str(folder / JSON_NAME))}")


@report_app.command("list")
def list_reports(as_json: JsonOption = False) -> None:
    """Lister les rapports archivés, dans l'ordre de l'archive."""
    from compliance_pipelines.core.verify import head_json, head_lines_fr, reason_of

    archive = _archive()
    entries = archive.list_revisions()
    newest = {entry.month: entry.revision for entry in entries}
    # The reason of a first version is nobody's: only the manifests of revisions are read.
    reasons = {entry.chain_index: reason_of(archive, entry) for entry in entries if entry.revision > 1}
    if as_json:
        rows = [
            {
                "month": entry.month,
                "revision": entry.revision,
                "in_force": newest[entry.month] == entry.revision,
                "reason": reasons.get(entry.chain_index),
                "sha256": entry.pdf.sha256,
                "retain_until": entry.retain_until,
                "mode": entry.mode,
                "chain_index": entry.chain_index,
            }
            for entry in entries
        ]
        head = head_json(entries[-1]) if entries else None
        out.print_json(json.dumps({"reports": rows, "chain_head": head}, ensure_ascii=False))
        return
    if not entries:
        out.print("Aucun rapport archivé.")
        return
    for entry in entries:
        state = "en vigueur" if newest[entry.month] == entry.revision else "remplacée"
        out.print(
            f"{entry.month}  révision {entry.revision}  {state:<10}  sha256 {entry.pdf.sha256[:16]}…  "
            f"conservé jusqu’au {entry.retain_until_at:%d/%m/%Y}"
        )
        if entry.revision > 1:
            out.print(escape(f"         motif : {reasons[entry.chain_index] or 'manifeste illisible'}"))
    for line in head_lines_fr(entries[-1]):
        out.print(line)


@report_app.command("get")
def get(month: MonthArgument, to: ToOption = Path(), revision: RevisionOption = None) -> None:
    """Extraire de l'archive le PDF d'un mois, ses données jointes et son manifeste."""
    from compliance_pipelines.core.verify import checked_files

    _, files = checked_files(_archive(), str(Month.parse(month)), revision)
    _write(to, files)


@report_app.command("summary")
def summarise(
    month: MonthArgument, to: ToOption = Path(), revision: RevisionOption = None, as_json: JsonOption = False
) -> None:
    """Extraire la synthèse d'une page (PDF) et ses chiffres (JSON), tels qu'archivés avec le rapport."""
    from compliance_pipelines.core.verify import checked_files

    _, files = checked_files(_archive(), str(Month.parse(month)), revision)
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
    from compliance_pipelines.settings import pseudonym_key, settings

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
    revision: RevisionOption = None,
    roots: Annotated[list[Path] | None, typer.Option("--roots", help="Certificats racines (PEM ou DER).")] = None,
    published: Annotated[str, typer.Option(help="Empreinte de tête publiée, que la chaîne doit contenir.")] = "",
) -> None:
    """Vérifier un rapport depuis la seule archive : octets, chiffres, manifeste, chaîne, conservation."""
    from compliance_pipelines.core.verify import (
        head_lines_fr,
        verify_all,
        verify_file,
        verify_month,
        verify_published,
    )
    from compliance_pipelines.resources import verification_tools

    what = _subject(subject, revision, everything=everything, published=bool(published))
    archive, tools = _archive(), verification_tools([_root(path) for path in roots or ()])
    if everything:
        found = verify_all(archive, tools)
    elif isinstance(what, Path):
        found = (verify_file(archive, _received(what), what.name, tools),)
    elif what is None:
        found = ()
    else:
        found = (verify_month(archive, str(what), tools, revision),)
    if published:
        found = (*found, verify_published(archive, published))
    if as_json:
        out.print_json(json.dumps([one.as_json() for one in found], ensure_ascii=False))
    else:
        for one in found:
            for line in one.lines_fr():
                out.print(escape(line))
        head = next((one.head for one in found if one.head is not None), None)
        for line in head_lines_fr(head) if head is not None else ():
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
    from compliance_pipelines.resources import utc_now
    from compliance_pipelines.settings import settings

    found = settings()
    today = paris_day(utc_now())
    months = load_policy(found.policy_dir, at=today).thresholds.purge_months
    keep_from = purge_before(today, months)
    targets = keep.find(found.home, keep_from)
    out.print(f"Conservé : {months} mois entiers et le mois en cours, depuis le {keep_from:%d/%m/%Y}.")
    for target in targets:
        size = f", {target.size / 1e6:.1f} Mo".replace(".", ",") if target.size else ""
        out.print(f"  {escape(target.name)} : {target.pieces}{size}")
    if apply:
        keep.apply(targets)
        keep.note(found.home, utc_now())
    if not targets:
        out.print("Rien à supprimer.")
    elif apply:
        out.print("Supprimé. L'archive n'est pas touchée.")
    else:
        out.print("Rien n'a été supprimé : ajouter --apply. L'archive n'est jamais touchée.")


def _subject(text: str, revision: int | None, *, everything: bool, published: bool) -> Month | Path | None:
    """What is to be verified: a month, a received file, or (None) only the archive or a published head."""
    if revision is not None and (everything or not text or Path(text).is_file()):
        raise EvidenceError(
            "--revision : attendu avec un mois, par exemple compliance report verify 2026-06 --revision 1"
        )
    if not text:
        if everything or published:
            return None
        raise EvidenceError(
            "report verify : indiquer ce qui est à vérifier, un mois (AAAA-MM), un fichier reçu, --all ou --published"
        )
    path = Path(text)
    if path.is_file():
        return path
    if path.is_dir():
        raise EvidenceError(f"{text[:200]} : c’est un dossier, attendu un fichier reçu ou un mois (AAAA-MM)")
    # A name with a folder or an extension was meant as a file: "month unreadable" would mislead.
    if path.name != text or path.suffix:
        raise EvidenceError(f"{text[:200]} : ce fichier n’existe pas")
    return Month.parse(text)


def _received(path: Path) -> bytes:
    with path.open("rb") as handle:
        content = handle.read(MAX_RECEIVED + 1)
    if len(content) > MAX_RECEIVED:
        raise EvidenceError(f"{path.name[:200]} : attendu un fichier de moins de {MAX_RECEIVED // 2**20} Mio")
    return content


def _root(path: Path) -> bytes:
    if not path.is_file():
        raise EvidenceError(f"--roots {str(path)[:200]} : ce fichier n’existe pas, attendu un certificat PEM ou DER")
    return _received(path)


def _write(to: Path, files: dict[str, bytes]) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (to / name).write_bytes(content)
        out.print(escape(str(to / name)))


def _past_month(text: str) -> Month:
    from compliance_pipelines.core.periods import day_start
    from compliance_pipelines.resources import utc_now
    from compliance_pipelines.settings import settings

    month = Month.parse(text)
    first = settings().first_day
    if month.end <= day_start(first):
        raise PeriodError(f"le mois {month} précède le premier jour suivi, {first:%d/%m/%Y} (COMPLIANCE_FIRST_DAY)")
    if month.end > utc_now():
        raise PeriodError(
            f"le mois {month} n'est pas terminé : son rapport se construit après le {month.days()[-1]:%d/%m/%Y}"
        )
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
