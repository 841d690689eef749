"""The detectors on labelled French sentences and against the clock, beside the six plain regexes one would write first.

Prints precision and recall with 95 % Wilson intervals for each detector and set, the same for the regexes, and the
time of both on a 2,000-character answer, on long text and on hostile text, in one run with the ratio. Only `tune` was
open to the authors of the rules; `later` was written in order to break them and first run once they stood. Nothing is
asserted here; the figures are printed whatever they are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from compliance_guardrails.detect import attributes, bias, citations
from compliance_guardrails.detect.named import named
from compliance_guardrails.detect.prepared import prepare
from compliance_guardrails.detect.rulebook import load_book

from benchmarks.answers import PLAIN
from benchmarks.letters import MANY, ORDINARY

CORPUS: Final = Path(__file__).parents[1] / "guardrails" / "tests" / "corpus"
SETS: Final = ("tune", "measure", "blind", "later")

# The patterns that the request for these detectors started from, run as they are with `re`, ignoring case.
BASELINE: Final = {
    "money": re.compile(r"\d[\d\s]*[.,]\d{2}\s*€", re.I),
    "percent": re.compile(r"\d+\s*%", re.I),
    "law_article": re.compile(r"article\s+[lra]\s*[\d\-]+", re.I),
    "clause": re.compile(r"clause\s+\d+", re.I),
    "delay": re.compile(r"(délai|deadline)\s+(de\s+)?\d+\s*(jour|mois|an)", re.I),
    "coverage": re.compile(r"(couvert|garanti|exclu)\s+(jusqu|à hauteur|pour)", re.I),
}
BASELINE_MARKERS: Final = re.compile(
    r"selon|d'après|source|document|article|clause|contrat|police|avenant|annexe|référence|voir|cf\.|conformément",
    re.I,
)

ANSWER: Final = (
    "Bonjour Madame,\n\nVoici ce que les documents permettent de répondre sur votre dégât des eaux. Selon "
    "les Conditions générales Habitation, page 14, la garantie couvre les dommages causés par une fuite "
    "accidentelle des canalisations, y compris la recherche de fuite confiée à un professionnel. La "
    "franchise est de 150 € et le plafond s’élève à 12 500 € pour le mobilier. Les suites d’un défaut "
    "d’entretien restent à la charge de l’occupant.\n\nPour la suite :\n- transmettez la déclaration dans "
    "les 5 jours ouvrés à votre gestionnaire ;\n- joignez des photographies des pièces touchées et la "
    "facture du plombier ;\n- conservez les objets jusqu’au passage de l’expert.\n\nUne expertise est "
    "organisée si le montant estimé dépasse 1 600 €, conformément à la convention IRSI. L’expert prendra "
    "contact avec vous et son rapport sera communiqué aux parties. Vous pouvez vous faire assister par la "
    "personne de votre choix. Le règlement intervient après réception de votre accord écrit.\n\nPour le "
    "relogement, les documents transmis ne permettent pas de confirmer la prise en charge : vérifiez auprès "
    "de votre référent sinistres si l’option a été souscrite. Si vous contestez l’évaluation, une "
    "contre-expertise peut être demandée ; ses frais sont précisés dans votre contrat. Cette réponse ne vaut "
    "pas décision de prise en charge. Elle a été établie à partir des seuls extraits disponibles à la date "
    "de votre demande et ne remplace pas la lecture de votre contrat.\n\nJe reste à votre disposition pour "
    "toute question complémentaire. Si votre situation change, pensez à prévenir votre agence : une "
    "déclaration inexacte peut retarder le traitement du dossier, et les pièces manquantes vous seront alors "
    "demandées par écrit. Les échanges avec le gestionnaire sont conservés avec le dossier pendant toute la "
    "durée de son instruction.\n\nPour un sinistre de cette nature, l’expérience montre qu’un dossier "
    "complet dès le premier envoi évite la plupart des relances. N’hésitez pas à me transmettre les "
    "documents que vous avez déjà réunis.\n\nCordialement,\nVotre assistant"
)
HOSTILE: Final = {
    "digits and spaces": "1 " * 500_000,
    "articles": "article L113-8 " * 66_666,
    "near misses": "9 ans " * 166_666,
    "markers": "1 € " + "selon source document " * 45_000,
    "list items": "- 1 €\n" * 142_857,
    "combining marks": "de\u0301lai de trente jours " * 40_000,
}
REGEX_LIMIT: Final = 20_000
"""Characters of hostile text given to the regexes: their money pattern is quadratic in a run of digits and spaces."""


@dataclass(slots=True)
class Counts:
    """True and false positives and negatives."""

    tp: int = 0
    fn: int = 0
    fp: int = 0
    tn: int = 0

    def add(self, *, label: bool, found: bool) -> None:
        """Count one sentence."""
        name = ("tp" if found else "fn") if label else ("fp" if found else "tn")
        setattr(self, name, getattr(self, name) + 1)


def wilson(hits: int, total: int, z: float = 1.959964) -> tuple[float, float, float]:
    """Share and its 95 % Wilson interval; NaN when there is nothing to divide by."""
    if total == 0:
        return math.nan, math.nan, math.nan
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return share, middle - half, middle + half


def rows(name: str) -> Iterator[dict[str, object]]:
    """Labelled sentences of one set."""
    for path in sorted((CORPUS / name).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def detected(detector: str, kind: str, text: str) -> bool:
    """What ours says of one sentence; for `bias`, a finding of that characteristic."""
    if detector == "claims":
        return any(claim.kind == kind for claim in citations.check(text).claims)
    if detector == "citations":
        return citations.check(text).compliance == 1
    if detector == "protected_attribute":
        return bool(attributes.find(text))
    return any(finding.characteristic == kind for finding in bias.screen(text, "general").findings)


def baseline(detector: str, kind: str, text: str) -> bool | None:
    """What the plain regexes say, None where there is none."""
    if detector == "claims":
        return BASELINE[kind].search(text) is not None
    if detector == "citations":
        claims = any(pattern.search(text) for pattern in BASELINE.values())
        return claims and BASELINE_MARKERS.search(text) is not None
    return None


def quality(names: Sequence[str]) -> None:
    """Print precision and recall of each detector and kind of claim for each set."""
    for name in names:
        ours: dict[str, Counts] = {}
        plain: dict[str, Counts] = {}
        for row in rows(name):
            detector, kind, text = str(row["detector"]), str(row.get("kind", row["detector"])), str(row["text"])
            label = row["label"] == 1
            if detector == "claims" and "kind" not in row:
                _count_spans(row, ours, plain)
                continue
            keys = [detector] if detector in {"citations", "protected_attribute"} else [detector, f"{detector}/{kind}"]
            if detector == "bias":
                keys.append(f"bias/{row.get('lang', 'fr')}")
            found, guess = detected(detector, kind, text), baseline(detector, kind, text)
            if detector == "bias":
                anything = bool(bias.screen(text, "general").findings)
                ours.setdefault("bias/any", Counts()).add(label=label, found=anything)
            for key in keys:
                # A harmless sentence is a false alarm whatever characteristic it is blamed on.
                blamed = detector == "bias" and not label and key != f"bias/{kind}" and anything
                ours.setdefault(key, Counts()).add(label=label, found=found or blamed)
                if guess is not None:
                    plain.setdefault(key, Counts()).add(label=label, found=guess)
        if not ours:
            print(f"{name}: no sentences")
            continue
        print(f"\n{name}: {'n':>33}  {'precision':22} {'recall':22}  regexes: precision, recall")
        for key in sorted(ours):
            print(f"  {key:<32} {_line(ours[key], plain.get(key))}")


def _count_spans(row: dict[str, Any], ours: dict[str, Counts], plain: dict[str, Counts]) -> None:
    """Texts that list all their claims: each listed span found or not, each claim beyond them a false one."""
    text, spans = str(row["text"]), row["spans"]
    wanted = [(s["kind"], text.index(s["text"]), text.index(s["text"]) + len(s["text"])) for s in spans]
    found = [(c.kind, c.start, c.end) for c in citations.check(text).claims]
    guessed = [(kind, m.start(), m.end()) for kind, pattern in BASELINE.items() for m in pattern.finditer(text)]
    for counts, claims in ((ours, found), (plain, guessed)):
        for kind, start, end in wanted:
            hit = any(k == kind and a < end and start < b for k, a, b in claims)
            for key in ("claims", f"claims/{kind}"):
                counts.setdefault(key, Counts()).add(label=True, found=hit)
        for kind, start, end in claims:
            if not any(k == kind and a < end and start < b for k, a, b in wanted):
                for key in ("claims", f"claims/{kind}"):
                    counts.setdefault(key, Counts()).add(label=False, found=True)


def _line(ours: Counts, plain: Counts | None) -> str:
    text = f"{ours.tp + ours.fn + ours.fp + ours.tn:>5}  {_share(ours.tp, ours.tp + ours.fp)} "
    text += _share(ours.tp, ours.tp + ours.fn)
    if plain is not None:
        text += f"  {wilson(plain.tp, plain.tp + plain.fp)[0]:.3f}, {wilson(plain.tp, plain.tp + plain.fn)[0]:.3f}"
    return text


def _share(hits: int, total: int) -> str:
    share, low, high = wilson(hits, total)
    return f"{share:.3f} [{low:.3f}, {high:.3f}] "


def best(action: Callable[[], object], rounds: int, repeat: int) -> float:
    """Seconds of CPU of one call, the best of `rounds` rounds."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeat):
            action()
        times.append((time.process_time() - started) / repeat)
    return min(times)


def regexes(text: str) -> None:
    """The plain patterns as a user would run them: each over the whole text, then the markers."""
    for pattern in BASELINE.values():
        pattern.findall(text)
    BASELINE_MARKERS.search(text)


def whole(text: str) -> None:
    """All detectors on one text, as `screen` runs them: folded and cut once for all."""
    ready = prepare(text)
    citations.check(ready)
    attributes.find(ready)
    bias.screen(ready)


NOBODY: Final = (
    PLAIN.replace("Si vous êtes locataire,", "En location,")
    .replace("l’adresse", "le plan")
    .replace("elle vient", "la fuite part")
    .replace("son rapport", "un rapport")
)
"""`PLAIN` without a word that the lists of groups know."""


def answers() -> None:
    """Print the time of each detector, of all together and of the plain regexes on answers of four sorts."""
    texts = {
        "names nobody": NOBODY,
        "four claims, no group": ANSWER[:2000],
        "one group": PLAIN,
        "ordinary letter": ORDINARY,
        "a group a sentence": MANY,
    }
    print("\nCPU time of one answer, µs (all: the three on a text made ready once)")
    print(f"  {'':<24} chars claims groups   claims attributes   bias     all  regexes  all / regexes")
    for name, text in texts.items():
        whole(text)  # rules are loaded and compiled at the first call
        runs = (citations.check, attributes.find, bias.screen, whole, regexes)
        spent = [best(lambda run=run, text=text: run(text), 40, 5) * 1e6 for run in runs]
        claims, groups = len(citations.check(text).claims), len(named(prepare(text), load_book()))
        figures = f"{spent[0]:8.0f} {spent[1]:10.0f} {spent[2]:6.0f} {spent[3]:7.0f} {spent[4]:8.0f}"
        print(f"  {name:<24} {len(text):>5} {claims:>6} {groups:>6} {figures} {spent[3] / spent[4]:14.2f}")


LETTERS: Final = 60


def letters(size: int = 2000) -> list[str]:
    """Different letters of `size` characters at most, drawn from the sentences of the others; the same each time."""
    sentences = [part + "." for text in (NOBODY, ANSWER, PLAIN, ORDINARY, MANY) for part in text.split(". ")]
    drawing = random.Random(2)  # noqa: S311
    made = []
    for _ in range(LETTERS):
        drawing.shuffle(sentences)
        ends = accumulate(len(sentence) + 1 for sentence in sentences)
        made.append(" ".join(sentence for sentence, end in zip(sentences, ends, strict=True) if end <= size))
    return made


def distribution() -> None:
    """Print the time of different letters, each read once in turn so that none profits from the one before."""
    made = letters()
    print(f"\nCPU time of {LETTERS} different letters in turn, µs")
    print("                 least    half     90 %    most")
    for name, run in (("all", whole), ("regexes", regexes)):
        rounds = [[best(lambda run=run, text=text: run(text), 1, 1) * 1e6 for text in made] for _ in range(15)]
        spent = sorted(map(min, zip(*rounds, strict=True)))
        shown = (spent[0], spent[LETTERS // 2], spent[LETTERS * 9 // 10], spent[-1])
        print(f"  {name:<12}", *(f"{value:7.0f}" for value in shown))


LOADING: Final = """
import time
{imports}
print(time.process_time())
"""
LIBRARIES: Final = "import asyncio, pydantic, yaml, ahocorasick\nclass Some(pydantic.BaseModel):\n    number: int"
POLICY: Final = f"{LIBRARIES}\nfrom compliance_guardrails.policy import load_policy\nload_policy()"
RULES: Final = f"{POLICY}\nfrom compliance_guardrails.decisions import Rules\nRules.current()"


def loading() -> None:
    """Print the time from the start of a process until policy and rules are read and their examples have run.

    Modules come from bytecode, as those of an installed package do; it is written by a first run that does not count.
    """
    print("\nCPU time of a new process, ms, best of 5")
    started = {
        "Python": "",
        "and pydantic, yaml, asyncio": LIBRARIES,
        "and the policy": POLICY,
        "and its rules, examples run": RULES,
    }
    best_of = dict.fromkeys(started, math.inf)
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for turn in range(6):  # in turns, so that all meet the same machine
            for name, imports in started.items():
                command = [sys.executable, "-W", "ignore", "-c", LOADING.format(imports=imports)]
                run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
                if turn:
                    best_of[name] = min(best_of[name], float(run.stdout) * 1e3)
    for name, spent in best_of.items():
        print(f"  {name:<36} {spent:7.0f}")


def speed() -> None:
    """Print times on answers, at start, on long text and on hostile text."""
    answers()
    distribution()
    loading()
    long_text = "\n\n".join([ANSWER] * 500)
    megabytes = len(long_text.encode()) / 1e6
    print(f"long text, {megabytes:.1f} MB, MB/s")
    for name, run in (
        ("claims and citations", lambda: citations.check(long_text)),
        ("protected attributes", lambda: attributes.find(long_text)),
        ("bias screen", lambda: bias.screen(long_text)),
        ("plain regexes (claims)", lambda: regexes(long_text)),
    ):
        print(f"  {name:<24} {megabytes / best(run, 3, 1):8.1f}")
    print(
        f"hostile text of 1 MB, ms (plain regexes: its first {REGEX_LIMIT // 1000} kB, and what 1 MB would take at n²)"
    )
    for name, hostile in HOSTILE.items():
        short = hostile[:REGEX_LIMIT]
        spent = [best(lambda f=f, h=hostile: f(h), 2, 1) * 1e3 for f in (citations.check, attributes.find, bias.screen)]
        guess = best(lambda s=short: regexes(s), 2, 1) * 1e3
        half = best(lambda s=short: regexes(s[: REGEX_LIMIT // 2]), 2, 1) * 1e3
        order = 2 if guess > 3 * half else 1
        projected = guess * (len(hostile) / REGEX_LIMIT) ** order
        print(
            f"  {name:<20} claims {spent[0]:7.0f}  attributes {spent[1]:7.0f}  bias {spent[2]:7.0f}"
            f"  regexes {guess:8.1f} → {projected:,.0f}"
        )


def main() -> None:
    """Run both parts; ``--sets tune`` limits the sentences, ``--no-speed`` leaves the clock out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--no-speed", action="store_true")
    options = parser.parse_args()
    quality(options.sets)
    if not options.no_speed:
        speed()


if __name__ == "__main__":
    main()
