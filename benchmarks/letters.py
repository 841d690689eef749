"""Answers of about 2,000 characters for the clock of the detectors, by how often they name a protected group.

Written for this purpose, in the manner of the letters that an insurer's assistant writes: only texts, no code.
"""

from __future__ import annotations

from typing import Final

ORDINARY: Final = (
    "Bonjour Monsieur,\n\n"
    "L’assuré a déclaré un vol de véhicule le 3 mars. Le certificat d’immatriculation est au nom de son épouse, "
    "et le conducteur désigné au contrat est leur fils. D’après les Conditions générales, page 22, la garantie "
    "vol s’applique lorsque le véhicule était fermé à clé. La franchise est de 450 € et l’indemnité est calculée "
    "à partir de la valeur de remplacement à dire d’expert.\n\n"
    "L’âge du véhicule compte pour le calcul de la vétusté : un véhicule de plus de 10 ans est indemnisé selon la "
    "cote du marché. L’ancienneté du permis du conducteur principal figure au dossier. Si l’assuré est une "
    "personne morale, un extrait du registre est demandé. Pour une location de longue durée, l’établissement "
    "financier reçoit l’indemnité en priorité.\n\n"
    "Merci de nous transmettre : le récépissé du dépôt de plainte, les clés du véhicule, le certificat de non- "
    "gage et une copie de la pièce d’identité. Une femme de ménage ou un salarié qui utilise le véhicule doit "
    "être déclaré au contrat. Le véhicule de remplacement est fourni pendant 30 jours, dans la limite de 40 € par "
    "jour.\n\n"
    "Le délai de règlement court à compter de la réception du dossier complet. Un gestionnaire prendra contact "
    "avec l’assuré dans les 48 heures. Si le véhicule est retrouvé avant le paiement, l’assuré le reprend et les "
    "réparations sont prises en charge. S’il est retrouvé après, il appartient à l’assureur, sauf si l’assuré "
    "préfère le racheter.\n\n"
    "L’assuré peut contester l’évaluation et demander une contre-expertise ; les frais sont partagés par moitié. "
    "Le médiateur peut être saisi gratuitement si le désaccord persiste. Votre conseiller reste joignable du "
    "lundi au vendredi, et l’espace client permet de suivre l’avancement du dossier. Les personnes malentendantes "
    "disposent d’un accueil par messagerie."
)
"""A stolen car: a spouse, the age of a vehicle, people hard of hearing; nothing is said against anybody."""

MANY: Final = (
    "Bonjour Madame,\n\n"
    "Voici la synthèse du dossier de l’assurée. L’assurée, une femme de 67 ans, est locataire d’un appartement de "
    "trois pièces. Son âge n’a pas d’incidence sur la garantie : les conditions générales, page 12, prévoient la "
    "même franchise de 150 € pour tous les assurés. La locataire a déclaré le sinistre dans les 5 jours ouvrés. "
    "Elle est retraitée et vit seule avec son fils handicapé, titulaire d’une carte mobilité inclusion.\n\n"
    "Le médecin de la victime a transmis un certificat médical. L’état de santé de la personne blessée sera "
    "apprécié par un expert indépendant. Une femme enceinte a été relogée à titre préventif, conformément à "
    "l’article L. 113-8 du Code des assurances. Le jeune conducteur, âgé de 19 ans, n’était pas au volant. Les "
    "enfants de la famille ont été accueillis chez un voisin de nationalité portugaise.\n\n"
    "L’adresse du logement et le nom du propriétaire figurent au contrat. Le handicap de l’enfant ouvre droit à "
    "une aide au relogement adapté. Un chômeur qui perd son emploi peut demander la suspension de sa cotisation "
    "pendant 90 jours. La religion et l’origine des personnes ne sont jamais demandées. Les hommes et les femmes "
    "paient la même prime, car le sexe n’entre plus dans le calcul du tarif. Les personnes âgées bénéficient d’un "
    "accompagnement par téléphone.\n\n"
    "Pour un senior, la visite de l’expert peut être organisée à domicile. Les salariés étrangers du chantier "
    "sont couverts comme les autres. Un parent isolé peut demander un paiement en dix fois. Le syndicat des "
    "copropriétaires a son propre assureur, et le syndicaliste qui a signalé la fuite n’est pas en cause. Les "
    "locataires d’origine modeste gardent leurs droits.\n\n"
    "La maladie de l’assurée ne change rien au calcul de l’indemnité. Le plafond est de 12 500 €, selon les "
    "Conditions particulières. Restant à votre disposition, nous vous prions d’agréer nos salutations."
)
"""A group, an age or an illness in nearly every sentence: the dearest answer that is still a letter."""
