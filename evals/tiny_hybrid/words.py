"""Pools of words, each split into a training part and a held-out part by a hash of the word itself."""

import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")

TRAIN, HELDOUT = "train", "heldout"
_SALT = 12413  # with it every pool has a held-out part worth the name
_ONSETS = (
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "z",
    "br",
    "cl",
    "cr",
    "dr",
    "fl",
    "gr",
    "kr",
    "pl",
    "st",
    "tr",
    "th",
    "sk",
)
_VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "ou")
_CODAS = ("", "", "", "", "", "n", "l", "r", "s", "m", "t", "k", "nd", "rn", "lm", "x")

_LETTERS = "aabcdeeefghiijklmnoopqrrsstttuuvwxyyz"
_STARTS = (*_ONSETS, "", "", "ch", "sh", "sp", "sn", "sw", "sl", "bl", "fr", "pr", "gl", "qu", "wh", "y", "str", "spr")
_MADE_UP = 0.65
_pieces: list[Sequence[str]] = []
_MIDDLES = ("a", "e", "i", "o", "u", "oo", "ee", "ea", "ou", "ai", "ie", "y", "au", "oa")
_ENDS = (
    *(
        "n",
        "l",
        "r",
        "s",
        "t",
        "k",
        "d",
        "p",
        "g",
        "b",
        "m",
        "x",
        "nk",
        "nd",
        "st",
        "ck",
        "sh",
        "ng",
        "mp",
        "ll",
        "tch",
    ),
    *("ner", "ter", "ling", "ding", "ver", "ton", "nel", "let", "ket", "ble", "dle", "ster", "nis", "key", "ry", "ge"),
    *("mber", "lver", "rgh", "rse", "que", "phone", "ft", "wn", "ve", "ce", "nge"),
)


class Value(NamedTuple):
    """What a fact says: `text` as it is told, `with_article` after a verb, `accept` what counts as right."""

    text: str
    with_article: str
    accept: tuple[str, ...]


def pick(rng: Random, items: Sequence[T]) -> T:
    """One of `items`; several times faster than `rng.choice`."""
    return items[int(rng.random() * len(items))]


def held_out(word: str) -> bool:
    """Whether training never sees `word` as a name or a value."""
    return zlib.crc32(f"{_SALT} {word.lower()}".encode()) % 8 == 0


def in_split(word: str, split: str) -> bool:
    return held_out(word) == (split == HELDOUT)


def halves(pool: str) -> dict[str, tuple[str, ...]]:
    """The two parts of a closed pool, given as its words in one text."""
    return {split: tuple(word for word in pool.split() if in_split(word, split)) for split in (TRAIN, HELDOUT)}


def article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" and not word.startswith("uni") else f"a {word}"


def name(rng: Random, split: str) -> str:
    """A made-up name of two to four syllables: a person, a town, a ship, a product."""
    while True:
        draw = rng.random()
        syllables = 2 if draw < 0.65 else 3 if draw < 0.95 else 4
        word = "".join(pick(rng, _ONSETS) + pick(rng, _VOWELS) for _ in range(syllables)) + pick(rng, _CODAS)
        if in_split(word, split):
            return word.capitalize()


def use_pieces(first: Sequence[str], more: Sequence[str]) -> None:
    """Make up words of a tokenizer's pieces too, so that each of its tokens has to be copied now and then."""
    _pieces[:] = first, more


def made_up(rng: Random) -> str:
    """A lower-case word that means nothing: what is told has to be copied, whatever it is."""
    while True:
        draw = rng.random()
        if _pieces and draw < 0.4:
            first, more = _pieces
            word = pick(rng, first) + "".join(pick(rng, more) for _ in range(int(rng.random() * 3)))
        elif draw < 0.6:
            word = "".join(pick(rng, _LETTERS) for _ in range(rng.randrange(3, 8)))
        else:
            parts = [pick(rng, _STARTS) + pick(rng, _MIDDLES) for _ in range(1 if rng.random() < 0.6 else 2)]
            word = "".join(parts) + pick(rng, _ENDS)
        if in_split(word, TRAIN):
            return word


def word_of(rng: Random, pool: dict[str, tuple[str, ...]], split: str) -> str:
    """A word of a pool. Training sees more made-up ones, or it would learn the pool instead of reading."""
    return made_up(rng) if split == TRAIN and rng.random() < _MADE_UP else pick(rng, pool[split])


def _drawn(make: Callable[[Random], str], accept: Callable[[str], str] = str) -> Callable[[Random, str], Value]:
    """Values made by `make`, drawn again until one belongs to the split; `accept` is the part that is judged."""

    def draw(rng: Random, split: str) -> Value:
        while True:
            text = make(rng)
            if in_split(accept(text), split):
                return Value(text, text, (accept(text),))

    return draw


def _named(rng: Random, split: str) -> Value:
    word = name(rng, split)
    return Value(word, word, (word,))


def _closed(words: str) -> Callable[[Random, str], Value]:
    parts = {
        split: tuple(Value(word, article(word), (word,)) for word in half) for split, half in halves(words).items()
    }

    def draw(rng: Random, split: str) -> Value:
        if split == TRAIN and rng.random() < _MADE_UP:
            word = made_up(rng)
            return Value(word, article(word), (word,))
        return pick(rng, parts[split])

    return draw


def _code(rng: Random) -> str:
    draw = rng.random()
    if draw < 0.8:
        return str(rng.randrange(100, 1000) if draw < 0.2 else rng.randrange(1000, 10000))
    return (
        str(rng.randrange(10000, 100000)) if draw < 0.9 else f"{pick(rng, 'ABCDEFGHKLMNPRST')}{rng.randrange(10, 100)}"
    )


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_SONG_STARTS = (
    "Silver",
    "Golden",
    "Quiet",
    "Broken",
    "Lonely",
    "Gentle",
    "Frozen",
    "Hidden",
    "Happy",
    "Distant",
    "Silent",
    "Shining",
)
_SONG_ENDS = (
    "River",
    "Morning",
    "Mountain",
    "Harbour",
    "Summer",
    "Window",
    "Garden",
    "Island",
    "Shadow",
    "Candle",
    "Valley",
    "Winter",
)

COLOURS = """red blue green yellow orange purple pink brown black white grey silver golden turquoise violet beige maroon
crimson scarlet lilac olive navy amber ivory teal indigo magenta bronze cream mint peach ruby coral lavender charcoal
copper emerald mustard rose tan"""
MATERIALS = """wood steel glass paper leather cotton wool silk plastic rubber iron brass tin clay stone marble granite
bamboo cork linen concrete felt velvet oak pine cardboard aluminium porcelain wax straw slate titanium denim canvas
nylon chrome zinc cedar birch willow"""
JOBS = """plumber baker teacher nurse pilot farmer carpenter painter dentist lawyer tailor barber butcher gardener cook
waiter driver sailor engineer architect florist jeweller librarian mechanic miner musician optician pharmacist
photographer plasterer policeman postman potter printer reporter roofer scientist secretary shepherd shoemaker singer
soldier surgeon teller tiler translator undertaker vet weaver welder writer actor accountant astronaut blacksmith
bricklayer cashier chemist clerk coach dancer detective editor electrician fisherman glazier guard hunter inspector
judge locksmith"""
INSTRUMENTS = """piano violin flute guitar trumpet drum harp cello clarinet trombone saxophone oboe bassoon organ banjo
mandolin accordion tuba viola harmonica ukulele lute xylophone horn recorder tambourine bagpipe zither lyre cornet
harpsichord fiddle gong triangle piccolo sitar bongo marimba keyboard whistle"""
SPORTS = """tennis judo rowing football swimming boxing fencing hockey karate cricket rugby golf badminton archery
cycling running sailing skiing skating surfing climbing diving wrestling volleyball basketball handball baseball
gymnastics bowling darts yoga riding canoeing squash curling polo lacrosse hurdling snooker billiards"""
FOODS = """lasagna soup pasta rice bread cheese porridge salad pizza stew spinach risotto curry goulash trout salmon
chicken toast yoghurt honey pudding cabbage broccoli pumpkin bacon ham tofu couscous polenta butter garlic fennel celery
asparagus chocolate marmalade popcorn muesli sauerkraut moussaka paella tuna herring beef pork ginger cinnamon parsley
cauliflower jam cake sausage"""
DRINKS = """tea coffee cocoa milk lemonade cider water juice espresso buttermilk soda wine beer punch mocha cola
eggnog broth smoothie milkshake"""
ANIMALS = """ferret rabbit hamster parrot goldfish tortoise pony goat lizard canary hedgehog mouse snake donkey duck
goose turkey llama alpaca pig calf lamb spaniel poodle terrier beagle budgie cockatoo gecko iguana newt frog 
rat squirrel raven owl falcon pigeon otter badger fox wolf bear lynx dolphin seal penguin camel zebra giraffe monkey
panda koala beaver moose reindeer hare kitten puppy"""
VEHICLES = """van truck bus tractor motorbike scooter jeep taxi limousine minibus lorry moped cabriolet pickup sidecar
tricycle bicycle wagon carriage buggy sledge tram ambulance caravan snowmobile roadster"""
COLLECTED = """stamps coins shells buttons postcards dolls maps clocks marbles spoons feathers fossils bottles posters
comics puppets mugs badges stickers pens keys lanterns teapots masks medals magnets candles puzzles kites thimbles
tickets ribbons pebbles trophies calendars bells"""
LANGUAGES = """English French German Spanish Italian Dutch Danish Swedish Finnish Polish Czech Greek Turkish Arabic
Hebrew Hindi Chinese Japanese Korean Thai Russian Portuguese Norwegian Icelandic Estonian Latvian Hungarian Romanian
Swahili Welsh Irish Basque Latin Albanian Serbian Persian"""
STUDIES = """geology biology chemistry physics history law medicine music botany geography philosophy economics
mathematics astronomy zoology literature engineering architecture psychology sociology archaeology forestry theology
journalism design statistics politics linguistics dentistry nursing"""
CARGOES = """timber gravel wheat coal barley cement salt sugar sand oil fish furniture corn flour grain hay soap milk
fruit lead gold ice rum turf fertilizer machinery cloth lime chalk asphalt gas petrol peat hemp tar spice"""
ROOMS = """kitchen garage cellar attic office library workshop bedroom bathroom hall shed barn stable greenhouse
laundry pantry gym studio canteen lobby chapel museum theatre bakery school hospital station factory warehouse
courtyard"""
SPOTS = """drawer cupboard box basket mirror shelf desk bed sofa stove fridge wardrobe chest suitcase jar vase pot
bucket curtain door bench piano bookcase carpet pillow clock oven barrel crate cabinet bag sink statue fireplace
ladder"""
NOUNS = """bike kettle lamp table chair umbrella jacket coat scarf hat wallet purse phone camera radio laptop printer
suitcase backpack tent blanket pillow carpet curtain mirror clock watch ring necklace bracelet helmet drill hammer saw
ladder bucket broom shovel rake hose wheelbarrow bench sofa desk bookcase wardrobe cupboard drawer box basket bottle mug
plate bowl spoon teapot pan oven fridge toaster blender mixer freezer fan heater stove sink bathtub door gate fence wall
roof window chimney boat canoe sail kite ball racket skateboard sledge doll puzzle notebook diary pencil eraser ruler
envelope parcel calendar map globe telescope microscope compass flashlight candle vase picture frame statue flag drum
keyboard speaker television projector scanner monitor tablet battery charger rope chain lock key bell whistle brush comb
towel apron glove belt boot sandal slipper cap dress shirt skirt sweater vest tie hammock swing cradle pram trolley
trunk barrel crate anchor oar saddle whip cage aquarium shed hut van trailer engine pump wheel cart tray jug"""
SIDES = ("in the", "behind the", "under the", "on the", "next to the")

_spots, _rooms = halves(SPOTS), halves(ROOMS)


def _place(rng: Random, split: str) -> Value:
    spot = word_of(rng, _spots, split)
    text = f"{pick(rng, SIDES)} {spot}"
    return Value(text, text, (spot,))


def _room(rng: Random, split: str) -> Value:
    room = word_of(rng, _rooms, split)
    return Value(f"the {room}", f"the {room}", (room,))


def _ranged(low: int, high: int, unit: str = "") -> Callable[[Random, str], Value]:
    """Numbers below `high`. Training sees larger ones as often: of a hundred numbers it would learn which there are."""
    usual, wide = (
        _drawn(lambda rng, end=end: f"{rng.randrange(low, end)} {unit}".strip(), lambda text: text.split()[0])
        for end in (high, 10 * high)
    )
    return lambda rng, split: wide(rng, split) if split == TRAIN and rng.random() < 0.5 else usual(rng, split)


_known_song = _drawn(lambda rng: f"{pick(rng, _SONG_STARTS)} {pick(rng, _SONG_ENDS)}")


def _song(rng: Random, split: str) -> Value:
    if split == TRAIN and rng.random() < _MADE_UP:
        title = f"{made_up(rng)} {made_up(rng)}".title()
        if in_split(title, TRAIN):
            return Value(title, title, (title,))
    return _known_song(rng, split)


VALUES: dict[str, Callable[[Random, str], Value]] = {
    "name": _named,
    "code": _drawn(_code),
    "number": _ranged(11, 100),
    "phone": _drawn(lambda rng: str(rng.randrange(10000, 100000))),
    "time": _drawn(lambda rng: f"{rng.randrange(6, 23)}:{rng.randrange(0, 60, 5 if rng.random() < 0.5 else 1):02d}"),
    "date": _drawn(lambda rng: f"{rng.randrange(1, 29)} {pick(rng, _MONTHS)}"),
    "euros": _ranged(12, 1000, "euros"),
    "litres": _ranged(12, 100, "litres"),
    "kilos": _ranged(12, 100, "kilos"),
    "song": _song,
    "password": _drawn(
        lambda rng: f"{pick(rng, _ONSETS)}{pick(rng, 'aeiou')}{pick(rng, _ONSETS)}o{rng.randrange(100)}"
    ),
    "place": _place,
    "room": _room,
    "colour": _closed(COLOURS),
    "material": _closed(MATERIALS),
    "job": _closed(JOBS),
    "instrument": _closed(INSTRUMENTS),
    "sport": _closed(SPORTS),
    "food": _closed(FOODS),
    "drink": _closed(DRINKS),
    "animal": _closed(ANIMALS),
    "vehicle": _closed(VEHICLES),
    "collected": _closed(COLLECTED),
    "language": _closed(LANGUAGES),
    "study": _closed(STUDIES),
    "cargo": _closed(CARGOES),
}
CLOSED = ("colour", "material", "job", "instrument", "sport", "food", "drink", "animal", "vehicle", "cargo")
