"""Irregular forms of English verbs and nouns, which no stemmer brings together.

A question asks "what did she buy" and a memory says "she bought". Forms that are as often another
word are left out: "rose", "ground", "bound", "wound", "bore", "lay", "born", "bit", "dove",
"leaves".
"""

from __future__ import annotations

__all__ = ["BASES"]

_FORMS = """
arise arose arisen; awake awoke awoken; beat beaten; become became; begin began begun; bend bent;
bet; bite bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought;
build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came;
creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove
driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled;
fly flew flown; forbid forbade forbidden; forecast forecasted; foresee foresaw foreseen; forget
forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given;
go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel
knelt; know knew known; lead led; lean leant; leap leapt; learn learnt; leave left; lend lent;
light lit; lose lost; make made; mean meant; meet met; mislead misled; mistake mistook mistaken;
misunderstand misunderstood; outgrow outgrew outgrown; overcome overcame; oversee oversaw
overseen; oversleep overslept; overtake overtook overtaken; pay paid; prove proven; rebuild
rebuilt; rewrite rewrote rewritten; ride rode ridden; ring rang rung; run ran; say said; see saw
seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot;
show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide
slid; smell smelt; sneak snuck; speak spoke spoken; speed sped; spell spelt; spend spent; spill
spilt; spin spun; spit spat; spoil spoilt; spring sprang sprung; stand stood; steal stole stolen;
stick stuck; sting stung; stink stank stunk; strike struck; strive strove striven; swear swore
sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; tread trod trodden; understand
understood; undertake undertook undertaken; undo undid undone; wake woke woken; wear wore worn;
weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written; child
children; man men; woman women; foot feet; tooth teeth; mouse mice; goose geese; wife wives; knife
knives; shelf shelves; wolf wolves; half halves; thief thieves; loaf loaves; scarf scarves; calf
calves; grandchild grandchildren; policeman policemen; salesman salesmen; gentleman gentlemen;
businessman businessmen; criterion criteria; phenomenon phenomena
"""

BASES = {
    form: base
    for base, *forms in (word.split() for word in _FORMS.replace("\n", " ").split(";"))
    for form in forms
}
"""From each form to its base: "bought" to "buy", "children" to "child"."""
