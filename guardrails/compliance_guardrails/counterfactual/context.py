"""The context documents of pairs: text, Markdown or PDF, read once, with French errors.

A path is looked for from the working directory, then from the folder of the pairs file and its parents, so that
"tests/bias/documents/x.pdf" works from anywhere in a checkout. pypdf is imported only when there is a PDF to read.
"""

from __future__ import annotations

from pathlib import Path

from compliance_guardrails.policy.errors import PolicyError

MAX_BYTES = 20_000_000
MAX_CHARS = 60_000
MAX_PARENTS = 4


def find_document(name: str, pairs_path: Path) -> Path | None:
    """The file called `name`, or None. Only what lies under the folder it is looked for from, links followed.

    Whoever can propose a pairs file must not be able to send another file of the machine to the model.
    """
    if not _inside(name):
        return None
    for folder in _folders(pairs_path):
        try:
            path = (folder / name).resolve()
            if path.is_file() and path.is_relative_to(folder.resolve()):
                return folder / name
        except (OSError, RuntimeError):  # a name too long, links in a circle
            continue
    return None


def _inside(name: str) -> bool:
    """Whether `name` may name a file of the checkout: relative, and never upwards."""
    return name.isprintable() and not Path(name).is_absolute() and ".." not in Path(name).parts


def _folders(pairs_path: Path) -> list[Path]:
    """The working directory, then the folder of the pairs file and its parents, no further than the checkout's own."""
    found = [Path.cwd()]
    for folder in list(pairs_path.resolve().parents)[: MAX_PARENTS + 1]:
        found.append(folder)
        if (folder / ".git").exists():
            break
    return [folder for folder in found if folder != folder.parent]  # the root holds the whole machine


def read_document(name: str, pairs_path: Path, pair_id: str) -> str:
    """The text of a context document, at most `MAX_CHARS`. Raises PolicyError in French."""
    key = f"pairs[{pair_id}].context_doc"
    path = find_document(name, pairs_path)
    if path is None:
        wrong = "est introuvable" if _inside(name) else "n’en est pas un"
        raise PolicyError(
            pairs_path.name,
            key,
            "un chemin dans le dépôt, relatif à sa racine ou au dossier des paires, sans « .. » ni lien qui en sort, "
            f"« {name[:120]} » {wrong}",
        )
    try:
        size = path.stat().st_size
        data = b"" if size > MAX_BYTES or path.suffix.lower() == ".pdf" else path.read_bytes()
    except OSError:
        raise PolicyError(pairs_path.name, key, "un fichier que l’on a le droit de lire") from None
    if size > MAX_BYTES:
        raise PolicyError(pairs_path.name, key, f"un document d’au plus {MAX_BYTES // 1_000_000} Mo")
    if path.suffix.lower() == ".pdf":
        text = _pdf_text(path, pairs_path.name, key)
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PolicyError(pairs_path.name, key, "un document texte en UTF-8, Markdown ou PDF") from None
    text = text.replace("\x00", "").strip()
    if not text:
        raise PolicyError(pairs_path.name, key, f"un document dont le texte se lit, « {path.name} » n’en a pas")
    return text[:MAX_CHARS]


def _pdf_text(path: Path, file: str, key: str) -> str:
    try:
        import pypdf
    except ImportError:
        raise PolicyError(file, key, "un texte, ou pypdf installé pour lire un PDF") from None
    try:
        reader = pypdf.PdfReader(path)
        locked = reader.is_encrypted and not reader.decrypt("")
        text = "" if locked else "\n\n".join(page.extract_text() for page in reader.pages)
    except Exception:  # noqa: BLE001 - a damaged PDF raises anything; the expert needs one line
        raise PolicyError(file, key, f"un PDF lisible, « {path.name} » ne l’est pas") from None
    if locked:
        raise PolicyError(file, key, f"un PDF sans mot de passe, « {path.name} » est chiffré")
    return text
