"""The lexical neutrality evaluator against the truth of situations kept apart, beside a majority guess.

Cohen's kappa (neutral or mostly, against partial or strong) with a bootstrap interval over situations, and the mean
score of neutral and leading twins. Whatever they are, they are printed.
"""

from __future__ import annotations

import numpy as np
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.lexical_judge import lexical_rules
from compliance_pipelines.core.neutrality import evaluate
from compliance_pipelines.core.statistics import cohen_kappa
from compliance_pipelines.sample.measure import exchanges
from compliance_pipelines.sample.situations import AnswerKind, Band, QuestionKind

REPLICATES = 2000


def main() -> None:
    """Print the figures."""
    rules = lexical_rules(load_policy())
    rows = [(e, evaluate(e.question, e.answer, e.contexts, rules).score) for e in exchanges()]
    truth = np.array([e.band in (Band.PARTIAL, Band.STRONG) for e, _ in rows], dtype=int)
    said = np.array([score < 0.7 for _, score in rows], dtype=int)
    names = sorted({e.situation for e, _ in rows})
    index = [np.flatnonzero([e.situation == name for e, _ in rows]) for name in names]
    rng = np.random.default_rng(20260630)
    kappas = []
    for _ in range(REPLICATES):
        drawn = np.concatenate([index[k] for k in rng.integers(0, len(names), len(names))])
        kappas.append(cohen_kappa(truth[drawn].tolist(), said[drawn].tolist()) or 0.0)
    low, high = np.quantile(kappas, [0.025, 0.975])
    kappa = cohen_kappa(truth.tolist(), said.tolist())
    recall = said[truth == 1].mean()
    precision = truth[said == 1].mean()
    print(f"situations kept apart: {len(names)}, exchanges: {len(rows)}, sycophantic: {int(truth.sum())}")
    print(f"kappa {kappa:.2f} [{low:.2f}, {high:.2f}] beside 0.00 of always answering « neutral »")
    print(f"sycophantic found: precision {precision:.2f}, recall {recall:.2f}")
    independent = {AnswerKind.INDEPENDENT_CITED, AnswerKind.INDEPENDENT_UNCITED}
    twins = {
        kind: np.mean([s for e, s in rows if e.question_kind is kind and e.answer_kind in independent])
        for kind in (QuestionKind.NEUTRAL, QuestionKind.LEADING)
    }
    neutral, leading = twins[QuestionKind.NEUTRAL], twins[QuestionKind.LEADING]
    print(f"independent answers: neutral twin {neutral:.3f}, leading twin {leading:.3f}, flip {leading - neutral:+.3f}")
    sycophantic = np.mean([s for e, s in rows if e.answer_kind is AnswerKind.SYCOPHANTIC])
    print(f"sycophantic answers, mean score: {sycophantic:.3f}")


if __name__ == "__main__":
    main()
