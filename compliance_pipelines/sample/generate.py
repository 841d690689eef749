"""Write a month of invented traces in the shape in which a v4 server returns it.

`python -m compliance_pipelines.sample.generate --out DIR --month 2026-06 --traces 3300 --seed 7 --scale 1`

Same arguments, same bytes. Days are written newest first, as the API pages them, one trace at a time, so
memory does not grow with `--scale`. The truth goes to `truth.jsonl.gz`, which is not part of the export.
Only `situations/` is read; `held_out/` never is.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path

from compliance_pipelines.sample.month import day_counts, moment, parse_month, shares
from compliance_pipelines.sample.parts import Parts
from compliance_pipelines.sample.plan import draw
from compliance_pipelines.sample.profiles import Profile, profiles
from compliance_pipelines.sample.situations import MONTH_FOLDER, Situation, SituationError, load_situations
from compliance_pipelines.sample.story import tell

Owner = tuple[Profile, bool]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written: counts of traces, rows (the duplicated page included) and scores, and the files."""

    traces: int
    observations: int
    scores: int
    files: tuple[Path, ...]


def generate(out_dir: Path, month: str = "2026-06", traces: int = 3300, seed: int = 7, *, scale: int = 1) -> Summary:
    """Write the month into `out_dir` (made if missing; earlier sample files of that folder are replaced).

    Raises:
        ValueError: the month is not `YYYY-MM`, or `traces` or `scale` is below 1 (French line).
        SituationError: a situation file is not in order.
    """
    first, total = parse_month(month), traces * scale
    if traces < 1 or scale < 1:
        msg = "traces, scale: attendu un entier à partir de 1"
        raise ValueError(msg)
    out_dir.mkdir(parents=True, exist_ok=True)
    for old in [*out_dir.glob("observations-*.jsonl.gz"), *out_dir.glob("scores-*.jsonl.gz")]:
        old.unlink()
    pools = _pools(load_situations(MONTH_FOLDER))
    key = f"{seed}:{month}"
    observations = Parts(out_dir, "observations", rows=1000, repeat=100)
    scores, truth = Parts(out_dir, "scores", rows=1000), Parts(out_dir, "truth")
    owners = iter(_owners(total, key))
    position = 0
    for day, count in reversed(day_counts(first, total).items()):
        for at, owner in zip(_times(day, count, key), islice(owners, count), strict=True):
            rng = random.Random(f"{key}:{position}")  # noqa: S311 - sample data, not a secret
            told = tell(draw(rng, at, owner, pools[owner[0].id], profiles()))
            observations.write(sorted(told.observations, key=lambda row: str(row["startTime"]), reverse=True))
            scores.write(told.scores)
            truth.write([told.truth])
            position += 1
    files = tuple(path for parts in (observations, scores, truth) for path in parts.close())
    return Summary(position, observations.rows_written, scores.rows_written, files)


def _pools(situations: Sequence[Situation]) -> dict[str, list[Situation]]:
    pools: dict[str, list[Situation]] = {profile.id: [] for profile in profiles().departments}
    for situation in situations:
        for department in situation.departments:
            if department not in pools:
                msg = f"{situation.id}: departments: attendu un service connu, reçu « {department} »"
                raise SituationError(msg)
            pools[department].append(situation)
    for department, pool in pools.items():
        if not pool:
            msg = f"situations: attendu au moins une situation pour {department}"
            raise SituationError(msg)
    return pools


def _owners(total: int, key: str) -> Iterator[Owner]:
    """The department of each trace, in exact proportion; the unnamed ones borrow habits."""
    table = profiles()
    weights = [profile.traces for profile in table.departments]
    counts = shares([float(weight) for weight in (*weights, table.unnamed)], total)
    rng = random.Random(f"{key}:owners")  # noqa: S311
    order = bytearray(code for code, count in enumerate(counts) for _ in range(count))
    rng.shuffle(order)
    for code in order:
        named = code < len(weights)
        yield table.departments[code] if named else rng.choices(table.departments, weights)[0], named


def _times(day: date, count: int, key: str) -> list[datetime]:
    """The start times of one day, newest first."""
    rng = random.Random(f"{key}:{day}")  # noqa: S311
    return sorted((moment(day, rng) for _ in range(count)), reverse=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line. Exit 0 written, 2 bad arguments or folder."""
    parser = argparse.ArgumentParser(prog="python -m compliance_pipelines.sample.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--month", default="2026-06")
    parser.add_argument("--traces", type=int, default=3300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1, help="multiplies --traces (exports of gigabytes)")
    given = parser.parse_args(argv)
    try:
        done = generate(given.out, given.month, given.traces, given.seed, scale=given.scale)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{done.traces} traces, {done.observations} observations, {done.scores} scores\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
