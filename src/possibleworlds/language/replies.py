r"""Find the answer in a reply in free text, and check that the rest of the reply does not deny it.

An answer is *marked* by `Answer: …`, "the answer is …", `\boxed{…}`, `<answer>…</answer>` or a JSON
object with the key "answer"; the last mark counts. It may only be introduced by `LEAD_WORDS`, after
reasons that end in a comma: "Since p, the answer is yes" states an answer; "It is false that the
answer is yes" and "Wrong answer: yes" do not. Words are allowed rather than forbidden because there
are endless ways to deny, quote, suppose or doubt something.

Models that are not stopped go on after their answer, with the next turn of a chat, with the same
question again, or with another one; what follows the first of these does not count.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from possibleworlds.language.marks import (
    ANSWERED,
    BEFORE_TURN,
    BOLD_AT_END,
    BOX,
    CHARACTERS,
    CHECKED,
    CHECKS_AGAIN,
    CLAUSE_END,
    CLOSING_TAG,
    CONCLUDES,
    DENIED_BEFORE,
    DISPLAY,
    END,
    KEY,
    KEYS,
    LEAD_WORDS,
    MARK,
    MARKED_ANSWER,
    NOT_STATED,
    OTHER_SUBJECT,
    OWN_PREMISE,
    PREMISE,
    QUESTION,
    QUOTES,
    SECOND_THOUGHT,
    SENTENCE_END,
    TEXT,
    THINKING,
    THOUGHT,
    TURN,
    WRAPPERS,
)
from possibleworlds.language.objects import (
    ObjectPairs,
    keys_and_values,
    outermost_object,
    python_dict,
    said_besides,
)

MAX_REPLY = 20_000
"""How many characters at the end of a reply are read."""
MAX_PLACES = 200
"""How many possible marks of an answer are tried, from the end; more make a reply unreadable."""
MAX_LEAD = 2_000
"""How many characters before an answer may belong to its sentence."""


@dataclass(frozen=True)
class Answer:
    """The part of a reply that is its answer."""

    text: str
    line: str = ""
    """The rest of its line."""
    after: str = ""
    """The lines that follow."""
    nested: bool = False
    """Whether it is an object within a JSON object, such as an assignment."""
    question: str = ""
    """The sentence right before it, if that is a question."""
    lead: str = ""
    """The words of its sentence before it."""
    previous: str = ""
    """The sentence before that one on its line."""


def spoken(reply: str, prompt: str) -> str:
    """Return the end of a reply, without its prompt, hidden reasoning, or further questions."""
    if "<" in reply or "[" in reply or "◁" in reply:
        reply = THINKING.sub(" ", reply)
        reply = THOUGHT.split(reply)[-1]  # a chat template may contain the opening tag
    reply = first_turn(BOX.sub(" ", without_prompt(reply, prompt)))
    reply = reply[-MAX_REPLY:].translate(CHARACTERS)
    reply = re.sub(r"\s{20,}", lambda gap: "\n\n" if "\n" in gap[0] else " ", reply)
    if "remise" in reply:
        reply = before_next_question(reply, prompt)
    if "<" in reply or "oxed" in reply:
        for wrapper, inside in WRAPPERS:
            reply = wrapper.sub(inside, reply)
    return HEADING.sub("Answer: ", FENCE.sub(r"\1", reply)).strip()


FENCE = re.compile(r"^([ \t]*```)(?!(?:yes|no|none|true|false)\b)[\w+-]+[ \t]*$", re.I | re.M)
"""The start of a fenced block with a language, such as json."""
HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*\**|\*\*)[ \t]*(?:final[ \t]+)?answer\**[ \t]*\n+(?=[^\s#])",
    re.IGNORECASE | re.MULTILINE,
)


def first_mark(reply: str) -> re.Match[str] | None:
    """Find the first mark of an answer."""
    return next((match for match in MARKED_ANSWER.finditer(reply) if match["mark"]), None)


def without_prompt(reply: str, prompt: str) -> str:
    """Return the first part of a reply with an answer, before or after its repeated prompt."""
    start = max(0, prompt.rfind("\n\nPremise"))
    examples, question = prompt[:start].strip(), prompt[start:].strip()
    if not question or question not in reply:
        return reply
    *parts, last = (reply.replace(examples, " ") if examples else reply).split(question)
    for number, part in enumerate(parts):
        if answer := first_mark(part):
            again = CHECKS_AGAIN.search(part, answer.end())
            return " ".join([*parts[number:], last]) if again else part
    return last


def first_turn(reply: str) -> str:
    """Cut a reply at the first token of a chat template after its beginning.

    >>> first_turn("<|im_start|>assistant\\nAnswer: no<|im_end|>\\n<|im_start|>user\\nWhy?")
    'Answer: no'
    """
    if "<" not in reply and "[" not in reply:
        return reply
    before = BEFORE_TURN.match(reply)
    return TURN.split(reply[before.end() if before else 0 :], maxsplit=1)[0]


LETTER = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")


def before_next_question(reply: str, prompt: str) -> str:
    """Cut a reply at the first other question after its answer, if it has one.

    Nothing remains if there is such a question before that answer as well.
    """
    answer = first_mark(reply)
    own = OWN_PREMISE.findall(prompt)
    letters = [set(LETTER.findall(premise)) for premise in own]
    letters.append(set().union(*letters))
    others = [
        premise.start()
        for premise in PREMISE.finditer(reply)
        if premise["asked"] is not None
        and not CHECKED.search(premise["formula"])
        and premise["formula"].strip("*_`$. \t") not in own
        and set(LETTER.findall(premise["formula"])) not in letters
    ]
    if not (answer and others) or others[-1] < answer.start():
        return reply
    if others[0] < answer.start():
        return ""
    return reply if CHECKS_AGAIN.search(reply, answer.end(), others[0]) else reply[: others[0]]


def marked_answer(reply: str, paragraph: bool) -> Answer | None:
    """Find the part of a reply that is marked as its answer; its text is empty if it is denied.

    An answer ends with its line or, in a `paragraph`, with an empty line.
    """
    for number, place in enumerate(places(reply)):
        if number == MAX_PLACES:
            return Answer("")
        if (answer := answer_at(reply, place, paragraph)) is not None:
            start = max(0, sentence_start(reply, place))
            previous = lead_at(reply, start - 1) if start else ""
            return replace(answer, question=question_before(reply, place), previous=previous)
    return None


def stated_before(reply: str) -> str:
    """Return the start of a reply with another answer; empty if its last one does not need it.

    An answer after a clause may be about something else: "Dropping p, the answer is no".

    >>> stated_before("Answer: yes. So p. Dropping p, the answer is no.")
    'Answer: yes. So p. '
    """
    later: list[int] = []  # where the sentences of later answers start
    for place in islice(places(reply), MAX_PLACES):
        answer = answer_at(reply, place, paragraph=False)
        if answer is None:
            continue
        is_alone = bool(LEAD_WORDS.match(answer.lead))
        if not later and (is_alone or SECOND_THOUGHT.match(answer.lead)):
            return ""
        if later and is_alone and answer.text:
            again = CHECKS_AGAIN.search(reply, place + len("answer"), later[0])
            return "" if again else reply[: later[-1]]
        later.append(max(0, sentence_start(reply, place)))
    return ""


def places(reply: str) -> Iterator[int]:
    """Yield the positions of `answer` and `boxed`, last first."""
    lowered = reply.lower()
    if len(lowered) != len(reply):  # letters that are longer in lower case would shift positions
        lowered = reply
    place = len(lowered)
    while (place := max(lowered.rfind("answer", 0, place), lowered.rfind("boxed", 0, place))) >= 0:
        yield place


def answer_at(reply: str, place: int, paragraph: bool) -> Answer | None:
    """Read the answer that is marked at a position, if any."""
    before, mark = reply[place - 1 : place] if place else "", MARK.match(reply, place)
    if not mark:
        return answer_in_object(reply, place)
    if before == "/" or (before.isalnum() and before.isascii()):
        return None  # the end of <answer>, or another word
    start = mark.end()
    lead = lead_at(reply, place)
    if mark[0].endswith("{"):
        if before == "\\":
            lead = lead[:-1]
        end = closing(reply, start)
        line, _, after = CLOSING_TAG.sub("", reply[end + 1 :]).partition("\n")
        answer = Answer(reply[start:end], line, after)
    elif mark[0].endswith(">"):
        if before != "<":
            return None
        text, _, rest = reply[start:].partition("</")
        line, _, after = rest.partition(">")[2].partition("\n")
        answer = Answer(text, line, after)
    else:
        rest = re.sub(r"\A\s*\n> ?", "", reply[start:]).lstrip()
        rest = re.sub(r"\A```([^`\n]+)```", r"\1", rest)
        while rest.startswith("```"):  # the answer is in a fenced block
            rest = rest.partition("\n")[2].replace("```", " ", 1).lstrip()
        if display := DISPLAY.match(rest):
            rest = rest[display.end() :]
        text, _, after = rest.partition("\n\n" if paragraph else "\n")
        answer = Answer(text, after=after)
        if lead[-1:] and lead[-1:] in QUOTES and lead[-1:] != "`":
            # A quoted answer counts only if the sentence is nothing but the quotation.
            if lead.strip(QUOTES + "*_ ") or text.rstrip(".*_ ")[-1:] not in QUOTES:
                return Answer("")
            lead, answer = "", Answer(text.rstrip(".*_ ")[:-1], after=after)
        by_a_verb = mark[0].rstrip("*_`, ")[-1].isalpha()
        if lead and by_a_verb and text.lower()[:4] == "not ":
            return Answer("")
    return replace(answer, lead=lead) if is_stated(reply, place, lead) else Answer("")


def sentence_start(reply: str, place: int) -> int:
    """Find the start of the sentence around a position; -1 if it is too far away."""
    first = max(0, place - MAX_LEAD)
    line = reply.rfind("\n", first, place) + 1
    start = line if line or not first else -1
    for end in SENTENCE_END.finditer(reply, max(first, line), place):
        start = end.end()
    return start


def lead_at(reply: str, place: int) -> str:
    """Return the words of a sentence before a position in it; "?" if the sentence is too long."""
    start = sentence_start(reply, place)
    return reply[start:place] if start >= 0 else "?"


def is_stated(reply: str, place: int, lead: str) -> bool:
    """Whether the words before an answer, and the line before it, do not deny it."""
    start = sentence_start(reply, place)
    if start > 0 and reply[start - 1] == "\n" and denied_before(reply[:start]):
        return False
    return states(lead)


def denied_before(text: str) -> bool:
    """Whether the last line of a text, apart from other answers, denies what comes next."""
    lines = (line for line in reversed(text[-MAX_LEAD:].splitlines()) if line.strip(" *_"))
    line = next((line for line in lines if not ANSWERED.search(line)), "")
    return bool(DENIED_BEFORE.search(line.rstrip(" *_")))


def question_before(reply: str, place: int) -> str:
    """Return the sentence before that of a position, if it is a question.

    >>> question_before("So p. Is there a case? **Answer:** no", 27)
    'Is there a case?'
    """
    before = reply[: max(0, sentence_start(reply, place))].rstrip(" \t\n*_#>\"'”’)")
    if not before.endswith("?"):
        return ""
    return before[max(0, sentence_start(before, len(before))) :]


def states(lead: str) -> bool:
    """Whether the words before an answer assert it, and do not deny, doubt or suppose it.

    >>> states("So the final "), states("Since p is false, the "), states("Not the ")
    (True, True, False)
    """
    if not lead.strip(" \t*_#>"):
        return True
    if LEAD_WORDS.match(lead):
        return not QUESTION.match(lead)
    if NOT_STATED.search(lead) or QUESTION.match(lead) or ANSWERED.search(lead):
        return False
    clauses = list(CLAUSE_END.finditer(lead))
    if not clauses or not LEAD_WORDS.match(lead, clauses[-1].end()):
        return False
    if OTHER_SUBJECT.match(lead):
        return bool(CONCLUDES.match(clauses[-1][0]))
    return True


def bold_at_end(reply: str) -> str:
    """Return the bold text at the end of a reply; empty if there is none or it is denied."""
    bold = BOLD_AT_END.search(reply[-200:])
    place = reply.rfind(bold[0]) if bold else 0
    return bold[1] if bold and is_stated(reply, place, lead_at(reply, place)) else ""


def ends_answer(line: str) -> bool:
    """Whether the rest of a line after `\\boxed{…}` is punctuation, or starts a reason."""
    return bool(END.match(line))


def answer_in_object(reply: str, place: int) -> Answer | None:
    """Read the answer of the outermost JSON object, or of a flat Python dict, around a key."""
    if not KEY.match(reply, place):
        return None
    outermost = outermost_object(reply, place) or python_dict(reply)
    if outermost is None:
        return None
    try:
        return answer_of(*outermost, reply)
    except RecursionError:
        return Answer("")


def answer_of(pairs: ObjectPairs, start: int, end: int, reply: str) -> Answer:
    """Read the answer of an object with this start and end."""
    if not is_stated(reply, start, lead_at(reply, start)):
        return Answer("")
    answers = [answer for key, answer in pairs if key.lower() in KEYS]
    if len(answers) != 1:
        return Answer("")
    (answer,) = answers
    question = next((q for key, q in pairs if key.lower() == "question" and isinstance(q, str)), "")
    if question and not question.lower().startswith(("does", "is the arg")):
        return Answer("")
    rest = f"{said_besides(pairs)}\n{reply[end:]}".strip("` \n")
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    if isinstance(answer, ObjectPairs):
        return Answer(f"{{{keys_and_values(answer)}}}", after=rest, nested=True)
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Answer(text, after=rest)


def closing(text: str, start: int) -> int:
    """Find the brace that closes the one before `start`, or the end of the text."""
    depth = 1
    for place in range(start, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if not depth:
                return place
    return len(text)


SENTENCE = re.compile(r"[^.!?\n]+")


def plain(text: str) -> str:
    """Remove LaTeX text commands, delimiters of math mode, and typographic apostrophes."""
    text = text.replace("’", "'")
    return TEXT.sub(r" \1 ", re.sub(r"\\[()]", " ", text)) if "\\" in text else text


def without(words: re.Pattern[str], text: str) -> str:
    """Remove the sentences that contain some words, in linear time.

    >>> without(re.compile("other"), "So p. In other cases, q. So r.")
    'So p. . So r.'
    """
    return SENTENCE.sub(lambda sentence: " " if words.search(sentence[0]) else sentence[0], text)
