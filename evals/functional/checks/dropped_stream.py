"""Streams that the client drops: the server keeps answering, and what was told in them is known."""

from ..client import RequestRefused
from ..result import Row, Score
from ..run import Run
from ..three_ways import Question, with_bounds


def check(run: Run) -> list[Row]:
    memory = run.memory("dropped-stream")
    chosen = run.texts.facts[-run.plan.dropped_streams :]
    questions = [Question(fact.question, (fact.statement,), fact.answers) for fact in chosen]
    answered, replies = 0, []
    for question in questions:
        try:
            run.client.drop_stream(question.told[0], memory=memory, max_tokens=256)
            run.watcher.request_ended()
            reply = run.ask(question.text, memory)
        except RequestRefused as error:
            return [_answering(Score(answered, len(questions)), str(error))]
        answered += bool(reply.text.strip())
        replies.append(reply)
    answers = with_bounds(run, questions, replies, memory)
    return [
        _answering(Score(answered, len(questions)), ""),
        Row(
            "dropped-stream",
            "Facts told in a chat whose stream was dropped",
            answers.score(answers.memory),
            answers.score(answers.same_prompt),
            answers.score(answers.off),
            cases=answers.cases(),
        ),
    ]


def _answering(score: Score, note: str) -> Row:
    title = "Stream dropped by the client: the server keeps answering"
    return Row("dropped-stream", title, score, goal="all", met=score.count == score.of, note=note)
