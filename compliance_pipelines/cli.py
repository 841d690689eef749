"""`compliance`: the commands people type. Output is French, errors are one line, exit codes are 0, 1 or 2.

0 done or valid · 1 what was checked is not in order · 2 could not decide: bad input or an outside system unavailable.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_cli import judge_app
from compliance_pipelines.cli_alerts import alerts_app
from compliance_pipelines.cli_report import purge, report_app
from compliance_pipelines.cli_status import doctor, status
from compliance_pipelines.cli_usage import help_text, usage_fr
from compliance_pipelines.core.periods import Month, PeriodError
from compliance_pipelines.env_file import load_env_file


def _judge_environment() -> tuple[Path, Session | None, date]:
    from compliance_pipelines.resources import judge_from_env, utc_now
    from compliance_pipelines.settings import settings

    home = settings().home
    judge = judge_from_env(str(home))
    return home, judge.session() if judge.configured else None, utc_now().date()


_HELP = """Preuves de neutralité des assistants : juger, rapporter, archiver, vérifier.

Codes de sortie : 0 fait ou conforme · 1 ce qui est vérifié n'est pas en ordre · 2 rien n'a pu être décidé (saisie
illisible, système injoignable).
"""

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
app.add_typer(report_app, name="report")
app.add_typer(judge_app(_judge_environment), name="judge")
app.add_typer(alerts_app, name="alerts")
out = Console(highlight=False, soft_wrap=True)

DEMO_MONTH = "2026-06"


@app.command()
def demo(month: Annotated[str, typer.Option(help="Mois de l'échantillon livré.")] = DEMO_MONTH) -> None:
    """Faire tourner tout le dispositif sur l'échantillon livré (synthétique) et montrer le résultat."""
    from compliance_pipelines import demo as demo_run

    demo_run.run(Month.parse(month), out)


app.command("doctor")(doctor)
app.command("status")(status)
app.command("purge")(purge)


_SYSTEM_FR = {
    errno.ENOENT: "fichier ou dossier introuvable",
    errno.EACCES: "accès refusé",
    errno.EPERM: "opération non permise",
    errno.EISDIR: "c’est un dossier, attendu un fichier",
    errno.ENOTDIR: "attendu un dossier",
    errno.EEXIST: "existe déjà",
    errno.ENOSPC: "disque plein",
    errno.EROFS: "système de fichiers en lecture seule",
}


def _refuse(message: str, code: int = 2) -> NoReturn:
    sys.stderr.write(f"compliance : {message}\n")
    if "--json" in sys.argv[1:]:
        # whoever parses the output finds the error there as well, in one shape for every command
        document = {"schema": "compliance-error/1", "error": message, "exit_code": code}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    raise SystemExit(code)


def main() -> None:
    """Entry point: known failures become one line and exit code 2."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    import warnings

    warnings.simplefilter("ignore")
    from compliance_guardrails.policy import PolicyError

    from compliance_pipelines.adapters.cache import CacheError
    from compliance_pipelines.adapters.outbox import OutboxError
    from compliance_pipelines.adapters.purge import PurgeError
    from compliance_pipelines.adapters.table_store import StoreError
    from compliance_pipelines.core.evidence import EvidenceError
    from compliance_pipelines.core.ports import ArchiveUnavailableError
    from compliance_pipelines.core.verify import AlteredError
    from compliance_pipelines.runs import RunFailedError
    from compliance_pipelines.settings import SettingsError

    known = (PolicyError, PeriodError, EvidenceError, ArchiveUnavailableError, SettingsError, RunFailedError)
    stores = (CacheError, OutboxError, PurgeError, StoreError)
    try:
        load_env_file()
        # not "standalone": the parser would answer mistakes in English and end the process itself
        code = app(standalone_mode=False)
    except AlteredError as failed:
        _refuse(str(failed), 1)
    except (*known, *stores) as failed:
        _refuse(str(failed))
    except OSError as failed:
        reason = _SYSTEM_FR.get(failed.errno or 0) or errno.errorcode.get(failed.errno or 0, type(failed).__name__)
        _refuse(f"{failed.filename or 'système'} : {reason}")
    except Exception as failed:
        if (shown := help_text(failed)) is not None:
            sys.stderr.write(f"{shown.rstrip()}\n")
            raise SystemExit(2) from None
        if (line := usage_fr(failed)) is None:
            raise
        _refuse(line)
    raise SystemExit(code if isinstance(code, int) else 0)
