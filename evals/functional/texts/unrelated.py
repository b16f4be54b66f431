"""General-knowledge questions that no fact of the suite has to do with."""

import msgspec


class Unrelated(msgspec.Struct, frozen=True):
    """A question whose answer the model knows by itself, so that recalling anything for it is a mistake."""

    question: str
    answers: tuple[str, ...]


UNRELATED: tuple[Unrelated, ...] = (
    Unrelated("What is the capital of France?", ("Paris",)),
    Unrelated("What is the capital of Japan?", ("Tokyo",)),
    Unrelated("What is the capital of Germany?", ("Berlin",)),
    Unrelated("What is the chemical symbol for gold?", ("Au",)),
    Unrelated("Who wrote Romeo and Juliet?", ("Shakespeare",)),
    Unrelated("How many days are there in a week?", ("seven", "7")),
    Unrelated("What is the opposite of hot?", ("cold", "cool")),
    Unrelated("What is the largest ocean on Earth?", ("Pacific",)),
    Unrelated("Which gas do plants take in for photosynthesis?", ("carbon dioxide", "CO2")),
    Unrelated("What is the tallest mountain in the world?", ("Everest",)),
    Unrelated("Who painted the Mona Lisa?", ("Leonardo", "da Vinci")),
    Unrelated("Which star is at the centre of our solar system?", ("Sun",)),
    Unrelated("Which organ pumps blood through the body?", ("heart",)),
    Unrelated("How many months are there in a year?", ("twelve", "12")),
    Unrelated("What is the chemical formula of water?", ("H2O",)),
    Unrelated("Who discovered gravity?", ("Newton",)),
    Unrelated("What is the largest desert in the world?", ("Sahara",)),
    Unrelated("Which planet is called the red planet?", ("Mars",)),
    Unrelated("On which continent is Kenya?", ("Africa",)),
    Unrelated("In which country is the Eiffel Tower?", ("France",)),
    Unrelated("What is the currency of the United Kingdom?", ("pound", "pounds", "sterling")),
)
