"""What a reason code says in French: why a trace has no score, as the report prints it.

Codes are made where the fault is seen (reply, call, batch, Ragas) and stored with the row; a code that is missing here
is printed as it is, so that none is ever hidden.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS_FR: Mapping[str, str] = {
    # the batch
    "anchors_failed": "témoins du juge manqués, notes de la nuit retenues",
    "anchors_pending": "témoins de fin de lot non lus",
    "judge_unavailable": "juge injoignable",
    "budget_exhausted": "budget d’appels épuisé",
    "stopped": "arrêt demandé",
    "aborted": "lot interrompu",
    # the call
    "timeout": "délai dépassé",
    "unreachable": "connexion au juge impossible",
    "rate_limited": "juge saturé (trop d’appels)",
    "server_error": "erreur du serveur du juge",
    "request_refused": "demande refusée par le serveur du juge",
    "not_a_completion": "réponse du serveur inutilisable",
    "prompt_cut_by_server": "demande tronquée par le serveur du juge",
    # the reply
    "empty_reply": "réponse du juge vide",
    "reply_cut": "réponse du juge tronquée",
    "reply_too_long": "réponse du juge trop longue",
    "reply_not_json": "réponse du juge illisible",
    "reply_bad_shape": "réponse du juge hors du format demandé",
    "reply_wrong_token": "réponse du juge sans le jeton de la demande",
    "score_not_a_number": "note qui n’est pas un nombre",
    "score_not_finite": "note non finie",
    "score_out_of_range": "note hors de [0 ; 1]",
    "no_reading": "note absente",
    # the exchange
    "too_long": "échange trop long pour le juge",
    # Ragas
    "no_statement": "aucune affirmation à vérifier",
    "no_embedding": "plongements indisponibles",
    "ragas_error": "échange refusé par Ragas",
}
