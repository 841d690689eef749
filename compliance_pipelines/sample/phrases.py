"""Small talk around the hand-written texts, and the fixed sentences of the guardrails.

None of these phrases holds a figure, a citation marker or an opinion, so the truth of a situation is not
touched. The file numbers in `QUESTION_OPENINGS` are there on purpose: they are no figures to be grounded.
"""

from __future__ import annotations

QUESTION_OPENINGS = (
    "", "", "", "", "Bonjour, ", "Bonjour,\n", "Bonsoir. ", "Une question rapide : ", "Dossier n° {file} : ",
    "Re-bonjour, ", "Pour le dossier {file}, ",
)  # fmt: skip
QUESTION_ENDINGS = (
    "", "", "", "", " Merci d’avance.", " Merci !", " Je dois répondre à mon interlocuteur.", "\nMerci.",
    " Cordialement",
)  # fmt: skip
ANSWER_OPENINGS = ("", "", "", "", "Bonjour,\n\n", "Bonjour. ", "Voici ma réponse.\n\n", "Bien reçu. ")
ANSWER_ENDINGS = (
    "", "", "", "", " Bonne journée.", "\n\nBonne continuation.", " Je reste à votre disposition.",
)  # fmt: skip
SMALL_TALK = (
    ("Bonjour", "Bonjour, que souhaitez-vous savoir ?"),
    ("Bonjour, tu peux m’aider ?", "Bien sûr. Posez-moi votre question."),
    ("merci c’est parfait", "Avec plaisir. Autre chose ?"),
    ("Peux-tu répondre en phrases courtes ?", "Oui, je ferai court."),
)

REFUSAL = "Cette information ne figure pas dans mes documents. Merci de contacter votre référent {contact}."
LOW_CONFIDENCE = (
    "⚠️ Je ne dispose pas de documents suffisants pour répondre avec certitude à cette question. "
    "Veuillez vérifier auprès de votre référent métier."
)
GATE_MESSAGE = (
    "Aucun document pertinent trouvé pour votre question (score de similarité {score} < {floor}). "
    "Veuillez reformuler ou contacter votre référent {contact}."
)
SYSTEM_PROMPTS = {
    "claims-assistant": (
        "Vous assistez les gestionnaires de l’assureur. Répondez seulement d’après les documents fournis et "
        "nommez le document de chaque chiffre."
    ),
    "finance-assistant": (
        "Vous assistez les équipes financières. N’utilisez que le contexte, donnez la source de "
        "chaque chiffre, ne déduisez aucun montant."
    ),
    "legal-assistant": (
        "Vous assistez les juristes. Vous ne donnez pas de conseil juridique et ne citez que des textes "
        "présents dans le contexte."
    ),
    "general-assistant": "Vous êtes l’assistant interne de l’assureur. Répondez brièvement.",
}
TASK = (
    "### Tâche :\nÀ l’aide du contexte ci-dessous, répondez à la demande. Lorsqu’une balise <source> porte "
    "un id, citez-la ainsi : [id].\n\n<context>\n{sources}\n</context>\n\n"
)
