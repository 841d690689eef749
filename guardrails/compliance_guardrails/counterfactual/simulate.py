"""An assistant made of sentences, honest or not by a known amount: for the power tables, the benchmarks and the tests.

It answers as a claims assistant would, in one of several wordings, with the base noise asked for on both sides alike;
`Behaviour` says what the swapped side suffers. Nothing here measures a real model. Deterministic by seed; with
`temperature_zero` the answer depends on the text of the prompt alone.
"""

from __future__ import annotations

import enum
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from .pairs import Side
from .ports import Ask, Progress, Reply


class Harm(enum.StrEnum):
    """What the swapped side suffers."""

    NONE = "none"
    DECISION = "decision"
    FRAUD = "fraud"
    EXPERT = "expert"
    AMOUNT = "amount"
    DELAY = "delay"
    DEDUCTIBLE = "deductible"
    REFUSAL = "refusal"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Shares in 0..1: `effect` of the swapped answers carry the harm, `noise` of all answers differ by themselves.

    `by_name`: the noise depends on the name alone, as with a model that finds one name odd.
    """

    harm: Harm = Harm.NONE
    effect: float = 0.0
    noise: float = 0.0
    temperature_zero: bool = False
    by_name: bool = False


_ACCEPT = (
    "Votre sinistre est couvert par la garantie dégât des eaux.",
    "Nous prenons en charge ce sinistre au titre de la garantie dégât des eaux.",
    "La garantie dégât des eaux est acquise pour ce dossier.",
    "D’après les Conditions générales, ce sinistre est pris en charge.",
)
_REFUSE = (
    "Votre sinistre n’est pas couvert par la garantie dégât des eaux.",
    "Nous refusons la prise en charge de ce sinistre.",
    "La garantie dégât des eaux ne s’applique pas à ce dossier.",
    "D’après les Conditions générales, ce sinistre est exclu.",
)
_FIGURES = (
    "La franchise est de {franchise} € et le plafond de {plafond} €, à déclarer dans un délai de {jours} jours.",
    "Le plafond s’élève à {plafond} €, la franchise à {franchise} €, le délai de déclaration à {jours} jours.",
    "Une franchise de {franchise} € s’applique, dans la limite de {plafond} €, après déclaration sous {jours} jours.",
)
_CLOSE = ("Bien à vous.", "Nous restons à votre écoute.", "", "Cordialement.")
_FRAUD = "Des incohérences font naître une suspicion de fraude."
_EXPERT = "Une expertise sur place est nécessaire."
_DOCUMENTS = "Merci de transmettre une facture, un devis, des photos, une attestation et un relevé bancaire."
_REFUSAL = "Cette information ne figure pas dans mes documents. Merci de contacter votre référent sinistres."


@dataclass(frozen=True, slots=True)
class SimulatedAssistant:
    """An `Assistant` without a network. `only`: the pairs that suffer the harm (None: all)."""

    behaviour: Behaviour
    seed: int = 0
    only: frozenset[str] | None = None

    def answer(self, asks: Sequence[Ask], progress: Progress | None = None) -> list[Reply]:
        """One reply for each ask."""
        if progress is not None:
            progress(len(asks), len(asks))
        return [Reply(self.text(ask)) for ask in asks]

    def text(self, ask: Ask) -> str:
        """The answer to one prompt."""
        b, prompt = self.behaviour, ask.prompt
        drawn = prompt.text if b.temperature_zero else f"{prompt.side}{prompt.index}{prompt.text}"
        wording = self._random("wording", prompt.pair_id, drawn)
        named = prompt.subject if b.by_name and prompt.subject else drawn
        chance = self._random("noise", prompt.pair_id, named)
        noisy = chance.random() < b.noise
        alike = self.only is not None and prompt.pair_id not in self.only
        harmed = prompt.side is Side.SWAP and not alike and wording.random() < b.effect
        return _compose(b.harm if harmed else Harm.NONE, noisy, wording)

    def _random(self, *parts: str) -> random.Random:
        digest = hashlib.blake2b("\x1f".join((str(self.seed), *parts)).encode(), digest_size=8).digest()
        return random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - a simulation, not a secret


def _compose(harm: Harm, noisy: bool, wording: random.Random) -> str:
    if harm is Harm.REFUSAL:
        return _REFUSAL
    accepts = harm is not Harm.DECISION and not noisy
    opening = wording.choice(_ACCEPT if accepts else _REFUSE)
    figures = wording.choice(_FIGURES).format(
        franchise=1500 if harm is Harm.DEDUCTIBLE else 150,
        plafond="8 000" if harm is Harm.AMOUNT else "12 000",
        jours=2 if harm is Harm.DELAY else 5,
    )
    extra = {Harm.FRAUD: _FRAUD, Harm.EXPERT: _EXPERT, Harm.DOCUMENTS: _DOCUMENTS}.get(harm, "")
    return " ".join(part for part in (opening, figures, extra, wording.choice(_CLOSE)) if part)
