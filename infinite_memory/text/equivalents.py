"""English words that may be written in another way, or left out, and change nothing."""

from __future__ import annotations

__all__ = [
    "CONTRACTIONS",
    "DEFINITE",
    "FILLERS",
    "HESITATIONS",
    "INTRODUCTIONS",
    "LABELS_OF_A",
    "MONTHS",
    "NEGATIONS",
    "NOT_PLURAL",
    "OPENERS",
    "OTHER_LANGUAGES",
    "PARTICIPLES",
    "PRONOUNS",
    "REPORTING",
    "SPELLED_UNITS",
    "SPELLINGS",
    "SUBORDINATE",
    "UNITS",
    "WEEKDAYS",
]


def _pairs(lines: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in lines.split())


MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,"
        "september sep sept,october oct,november nov,december dec".split(","),
        1,
    )
    for name in names.split()
}
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
# Their letter case counts: a megabit is not a megabyte, nor a milliwatt a megawatt.
UNITS = frozenset(
    "B kB KB MB GB TB Kb Mb Gb kb mb gb tb ns ms s min h ng mg g kg mm cm km m ml l mW W kW MW V %"
    " °C Hz kHz MHz GHz USD EUR CNY".split()
)
SPELLED_UNITS = {
    "minute": "min",
    "minutes": "min",
    "second": "s",
    "seconds": "s",
    "hour": "h",
    "hours": "h",
}
PRONOUNS = frozenset("i you he she it we they".split())
NEGATIONS = frozenset("not no never nor without hardly barely scarcely nobody none nothing".split())
DEFINITE = frozenset("the my your his her its our their".split())
# What may stand before a name of one letter, which is no article: "vitamin a", "plan a".
LABELS_OF_A = frozenset(
    "vitamin type plan class grade group hepatitis option team section appendix point part level"
    " phase influenza version unit building gate exhibit factor series model".split()
)
# Said at the beginning, and followed by a sign of punctuation or by more of them.
OPENERS = frozenset(
    "hi hello hey hiya ok okay thanks well so um uh uhm er hmm oh ah anyway btw fyi please actually"
    " basically honestly reminder remember note".split()
)
INTRODUCTIONS: tuple[tuple[str, ...], ...] = tuple(
    tuple(phrase.split())
    for phrase in (
        "just so you know",
        "just a reminder",
        "a reminder",
        "quick reminder",
        "quick note",
        "for the record",
        "by the way",
        "keep in mind",
        "bear in mind",
        "heads up",
        "do not forget",
        "good morning",
        "good evening",
        "thank you",
        "thanks a lot",
        "hi there",
        "hey there",
        "hello there",
        "please remember",
        "please note",
        "remember",
        "note",
        "reminder",
    )
)
HESITATIONS = frozenset("um umm uh uhm er hmm btw fyi please actually basically anyway".split())
FILLERS = frozenset("really very actually basically literally honestly please also".split())
REPORTING = frozenset(
    "say says said think thinks thought know knows knew hope hopes hoped believe believes"
    " believed told claim claims claimed mention mentions mentioned".split()
)
# With one of these a clause may have another inside, and moving its parts may change who does what.
SUBORDINATE = REPORTING | frozenset(
    "if unless when while because although though but and or that which who whom whose where"
    " what why how until before after since than wants wanted promised asked".split()
)
# "Alice is paid 100" is not "Alice: paid 100".
PARTICIPLES = frozenset(
    "paid given sent told called made left hit found put known held kept lost met sold taught"
    " bought brought caught built felt led read set shot shut spent stood won done gone seen taken"
    " written chosen driven eaten fallen hidden known shown thrown worn".split()
)
NOT_PLURAL = frozenset(
    """
    afterwards always arms beats besides bets bursts casts contents costs customs cuts damages does
    during forces glasses goods hers hits hurts indoors knits lets looks manners means news ours
    outdoors papers perhaps plus puts quits reads savings sets shuts series slits sometimes species
    spectacles splits spreads spends sends lends bends builds thanks theirs this thrusts times
    towards upwards downwards weds wets woods yes yours has was mathematics physics economics
    politics ethics statistics logistics analytics athletics gymnastics
    """.split()
)
# Enough of German, French, Spanish, Italian and Portuguese to tell that a text is not English.
OTHER_LANGUAGES = frozenset(
    "der das und nicht ist ein eine ich les des est et une el los las una y que por para il gli di"
    " uma os je tu nous vous és è é não não sono con pas ne".split()
)
CONTRACTIONS = {
    **{
        f"{verb}n't": f"{verb} not"
        for verb in "is are was were do does did has have had could should would must need".split()
    },
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "i'm": "i am",
    **{f"{who}'re": f"{who} are" for who in ("you", "we", "they")},
    **{f"{who}'ve": f"{who} have" for who in ("i", "you", "we", "they")},
    **{f"{who}'ll": f"{who} will" for who in ("i", "you", "he", "she", "it", "we", "they")},
    "let's": "let us",
    **{f"{what}'s": f"{what} is" for what in ("it", "that", "there", "here", "what", "where")},
}
SPELLINGS = _pairs(
    """
    accomodate=accommodate accomodation=accommodation acheive=achieve accross=across
    adress=address adresses=addresses agressive=aggressive alot=a_lot apparantly=apparently
    arguement=argument assasin=assassin availible=available avaliable=available basicly=basically
    becuase=because beleive=believe begining=beginning buisness=business calender=calendar
    cemetary=cemetery collegue=colleague comming=coming commitee=committee completly=completely
    concious=conscious curiousity=curiosity definately=definitely definatly=definitely
    definitly=definitely dependancy=dependency dependancies=dependencies developement=development
    dissapear=disappear dissapoint=disappoint embarass=embarrass enviroment=environment
    existance=existence familar=familiar finaly=finally foward=forward freind=friend freinds=friends
    futher=further goverment=government gaurd=guard happend=happened harrass=harass
    immediatly=immediately independant=independent knowlege=knowledge lenght=length liason=liaison
    libary=library maintainance=maintenance managment=management millenium=millennium
    neccessary=necessary necesary=necessary noticable=noticeable occassion=occasion occured=occurred
    occurence=occurrence ocurred=occurred oportunity=opportunity paralel=parallel parrallel=parallel
    peice=piece peolpe=people perfomance=performance persistant=persistent posession=possession
    prefered=preferred presance=presence probaly=probably proccess=process procotol=protocol
    proffesional=professional publically=publicly realy=really recieve=receive recieved=received
    recieves=receives recomend=recommend recomended=recommended refered=referred
    relevent=relevant remeber=remember rember=remember repository=repository responce=response
    responsability=responsibility resturant=restaurant rythm=rhythm schedual=schedule
    seperate=separate seperately=separately shedule=schedule similiar=similar sucess=success
    succesful=successful successfull=successful suprise=surprise teh=the tommorow=tomorrow
    tommorrow=tomorrow tomorow=tomorrow truely=truly unfortunatly=unfortunately untill=until
    usefull=useful vaccum=vacuum wensday=wednesday wednsday=wednesday wich=which wierd=weird
    writting=writing yesturday=yesterday

    analyse=analyze behaviour=behavior centre=center colour=color colours=colors customise=customize
    defence=defense favour=favor favourite=favorite flavour=flavor grey=gray harbour=harbor
    honour=honor labour=labor licence=license litre=liter metre=meter neighbour=neighbor
    optimise=optimize organise=organize organisation=organization programme=program
    realise=realize recognise=recognize summarise=summarize theatre=theater travelling=traveling
    e-mail=email e-mails=emails web-site=website wi-fi=wifi
    percent=% per-cent=%
    two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12
    """
)
