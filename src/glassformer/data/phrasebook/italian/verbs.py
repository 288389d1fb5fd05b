"""The Italian verbs of the phrasebook, by their English names.

One line per verb: `English name | infinitive [participle] [flags] | preposition`. The preposition leads to the object
(`a` makes it a dative: gli rispondo); without one the object is direct. Flags: `e` (essere), `r` (reflexive, with
essere), `isc` (pulisco), `i` (the past is the imperfect), `g` (no "stare" with the gerund).
"""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.data.phrasebook.italian.morphology import Conjugation, conjugate

_TABLE = """
eat | mangiare |
drink | bere bevuto |
cook | cucinare |
bake | infornare |
order | ordinare |
buy | comprare |
sell | vendere |
read | leggere letto |
write | scrivere scritto |
see | vedere visto g |
hear | sentire g |
look for | cercare |
find | trovare |
lose | perdere perso |
open | aprire aperto |
close | chiudere chiuso |
turn on | accendere acceso |
turn off | spegnere spento |
pick up | andare+a+prendere e |
call | chiamare |
invite | invitare |
try on | provare |
throw away | buttare+via |
tidy up | riordinare |
look at | guardare |
lock | chiudere+a+chiave chiuso |
prepare | preparare |
know | conoscere conosciuto i g |
love | amare i g |
like | piacere piaciuto i g e |
visit | visitare |
understand | capire isc g |
learn | imparare |
forget | dimenticare |
repair | riparare |
wash | lavare |
clean | pulire isc |
carry | portare |
wear | indossare |
draw | disegnare |
paint | dipingere dipinto |
take | prendere preso |
use | usare |
play | giocare | a+
sing | cantare |
cross | attraversare |
build | costruire isc |
break | rompere rotto |
cut | tagliare |
feed | nutrire |
steal | rubare |
hide | nascondere nascosto |
meet | incontrare |
greet | salutare |
photograph | fotografare |
translate | tradurre tradotto |
count | contare |
pay | pagare |
rent | affittare |
follow | seguire |
help | aiutare |
thank | ringraziare |
answer | rispondere risposto | a
ask | chiedere chiesto | a
listen to | ascoltare |
trust | fidarsi r g | di
congratulate | congratularsi r g | con
give | dare |
show | mostrare |
bring | portare |
send | mandare |
lend | prestare |
tell | raccontare |
explain | spiegare |
recommend | consigliare |
return | restituire isc |
read out | leggere+ad+alta+voce letto |
wait for | aspettare |
think of | pensare | a+
talk about | parlare | di
laugh about | ridere riso | di
talk to | parlare | con
play with | giocare | con
dream of | sognare |
taste of | sapere i g | di
sleep | dormire |
work | lavorare |
laugh | ridere riso |
cry | piangere pianto |
dance | ballare |
swim | nuotare |
get up | alzarsi r |
fall asleep | addormentarsi r |
arrive | arrivare e |
come back | tornare e |
go out | uscire e |
wake up | svegliarsi r |
live | abitare i g |
stay | restare e |
go | andare e |
travel | viaggiare |
run | correre corso e |
have | avere avuto i g |
put | mettere messo |
rain | piovere piovuto |
snow | nevicare |
belong to | appartenere i g | a
know#fact | sapere i g |
say | dire detto g |
be | essere stato i g e |
"""


@dataclass(frozen=True, slots=True)
class ItalianVerb:
    """A verb with its forms and what it governs; `rest` are the fixed words after it (via, al forno)."""

    forms: Conjugation
    rest: tuple[str, ...]
    being: bool  # its auxiliary is essere
    reflexive: bool
    imperfect: bool
    gerund: bool
    preposition: str


def _verb(line: str) -> tuple[str, ItalianVerb]:
    name, target, preposition = (part.strip() for part in line.split("|"))
    infinitive, *others = target.split()
    infinitive, *rest = infinitive.split("+")
    flags = {flag for flag in others if flag in ("e", "r", "i", "g", "isc")}
    participle = next((word for word in others if word not in flags), "")
    reflexive = "r" in flags
    plain = infinitive[:-2] + "e" if reflexive else infinitive
    forms = conjugate(plain, participle, isc="isc" in flags)
    return name, ItalianVerb(
        forms, tuple(rest), bool(flags & {"e", "r"}), reflexive, "i" in flags, "g" not in flags, preposition
    )


VERBS: dict[str, ItalianVerb] = dict(_verb(line) for line in _TABLE.strip().split("\n"))

# Modal: the infinitive that expresses it, and which form: present (its past is the imperfect), conditional or future.
MODALS = {
    "can": ("potere", "present"),
    "must": ("dovere", "present"),
    "have to": ("dovere", "present"),
    "want to": ("volere", "present"),
    "should": ("dovere", "conditional"),
    "be allowed to": ("potere", "present"),
    "would like to": ("volere", "conditional"),
    "must not": ("dovere", "present"),
    "will": ("", "future"),
}
MODAL_FORMS = {name: conjugate(name) for name in ("potere", "dovere", "volere")}
