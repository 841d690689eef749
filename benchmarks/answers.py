"""A question and an answer of the length that claims handlers get, for the benchmarks of the hook."""

from __future__ import annotations

QUESTION = "Pouvez-vous me rappeler la marche à suivre pour un dégât des eaux dans un appartement loué ?"
PLAIN = (
    "Voici la marche à suivre pour un dégât des eaux. Commencez par couper l’arrivée d’eau et par protéger les "
    "meubles qui peuvent l’être. Prenez ensuite des photographies de chaque pièce touchée, avant tout nettoyage, et "
    "gardez les objets abîmés jusqu’au passage de l’expert. Remplissez le constat amiable avec le voisin d’où vient la "
    "fuite, ou avec le syndic quand elle vient des parties communes. Indiquez l’adresse du logement, l’étage, la cause "
    "probable et la date à laquelle vous avez découvert le sinistre. Le formulaire se trouve dans votre espace client, "
    "rubrique documents ; il peut aussi être envoyé par courrier. Un gestionnaire relit le dossier, vous demande les "
    "pièces qui manquent et mandate un expert si le montant des travaux le justifie. L’expert prend rendez-vous avec "
    "vous et vérifie l’état des murs, des sols et des plafonds. Il remet son rapport, qui décrit les dommages et "
    "propose une évaluation. Vous pouvez le contester et demander une contre-expertise. Si vous êtes locataire, "
    "prévenez le propriétaire, qui déclare les dommages du bâtiment à son propre assureur ; les vôtres concernent vos "
    "meubles et les embellissements que vous avez payés. Conservez les factures d’achat et de réparation. Quand le "
    "logement n’est plus habitable, dites-le dès la déclaration, afin qu’une solution de relogement soit étudiée. "
    "N’engagez pas de travaux définitifs avant l’accord du gestionnaire, sauf urgence. Pour toute question, répondez "
    "au message que vous avez reçu à l’ouverture du dossier : la référence y figure, et votre réponse est jointe "
    "automatiquement. Un interlocuteur unique suit votre dossier du début à la fin."
)
CITED = f"{PLAIN} Selon les Conditions générales, p. 12, la franchise est de 150 €."
