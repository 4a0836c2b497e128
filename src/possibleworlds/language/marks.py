"""How replies mark, introduce, deny or take back an answer, as regular expressions."""

import re

KEYS = ("answer", "final_answer", "final answer")
KEY = re.compile(r"answer[\"']\s*:", re.IGNORECASE)
MARK = re.compile(
    r"answer(?:\s+to\s+(?:the|this)\s+(?:question|problem)|\s*\(\s*(?:yes|no)\s*(?:/|or)\s*"
    r"(?:yes|no)\s*\))?(?:(?:\s+is)?[*_`]*\s*[:=：][*_`]*|"
    r"\s+(?:is|must\s+be|should\s+be(?=[\s*_`]*(?:yes|no|none)\b))\b(?:\s+that\b)?[*_`]*"
    r"(?:[,\s]+(?:therefore|thus|hence|then|clearly|definitely|indeed|simply)\b[,:]?)*)|"
    r"answer\s+[-–—→]\s|answer>|boxed\s*\{",
    re.IGNORECASE,
)
ANSWERED = re.compile(
    rf"(?:{MARK.pattern})[\s*_]*(?:\\text\{{)?(?:yes|no|true|false|none)\b", re.IGNORECASE
)
"""An answer that precedes another one in the same sentence."""
QUOTES = "\"'`“”‘’«»"
SENTENCE_END = re.compile(r"[.!?…][\"'”’)*_]*\s+|\n")
LEAD_WORDS = re.compile(
    r"(?:[\s*_#>$:`\"“<\[\\(•∴→⇒➡➜|✅✔✓☑🎯👉★–—-]|\\(?:text|mathbf)\{|\d+[.)]|step\s+\d+|"
    r"\b(?:so|then|thus|therefore|hence|and|now|finally|ultimately|overall|clearly|"
    r"final|the|my|our|correct|right|exact|direct|short|logical|full|answer|verdict|result|decision|"
    r"conclusion|conclude|summary|conclusively|in|we|i|it|this|that|which|is|are|be|must|can|see|"
    r"have|get|find|clear|i['’]?m\s+(?:confident|certain|sure)|"
    r"am\s+(?:confident|certain|sure)|to\s+(?:conclude|summari[sz]e|sum\s+up|be\s+(?:clear|exact))|"
    r"follows\s+that|means|shows|proves|demonstrates|confirms|"
    r"implies\s+that|this\s+case|here|"
    r"consequently|accordingly|as\s+a\s+result|done|given\s+this|of\s+course|indeed|output|json)\b)*\Z",
    re.IGNORECASE,
)
OTHER_SUBJECT = re.compile(
    r"\W*(?:(?:but|and|yet|now|however)\b\W*)?(?:(?:if|when|provided|were|had)\b|in\s+case\b|"
    r"(?:for|with|under)\b(?!\s+(?:all|every|each|any|no|th(?:is|ese|at)\s+reasons?)\b)|"
    r"without\b(?!\s+(?:an?y?\s+)?(?:such|counter))|in\s+the\s+(?:other|opposite)\b|"
    r"to\s+(?:an?|the|those|some)\b)",
    re.IGNORECASE,
)
"""The start of a clause by which an answer after it may be conditional, or about something else."""
SECOND_THOUGHT = re.compile(
    r"\W*(?:(?:but|no)\b\W*)?(?:wait|hmm+|actually|oops|hold\s+on|correction)\b", re.IGNORECASE
)
CLAUSE_END = re.compile(
    r"[,;–—](?=\s|\Z)|\b(?:so|thus|therefore|hence|consequently)\b|\bwhich\s+means\b", re.IGNORECASE
)
CONCLUDES = re.compile(r"\b(?:so|thus|therefore|hence|consequently)\b", re.IGNORECASE)
NOT_STATED = re.compile(
    r"\b(?:suppos\w+|assum\w+|whether|would|could|should|might|may|maybe|perhaps|possibly|probably|"
    r"unless|sa(?:y|ys|id|ying)|claim\w*|think\w*|thought|believ\w+|doubt\w*|den(?:y|ies|ied)|"
    r"reject\w*|disagree\w*|wrong\w*|incorrect\w*|mistake\w*|untrue|false\s+that|not\s+true\s+that|"
    r"not\s+the\s+case\s+that|example|expected|sample|options?|format|either|otherwise|else|"
    r"contrary|end\s+with|finish\s+with|opposite|pretend\w*|imagine|naive\w*|guess\w*|unsure|"
    r"uncertain|unclear|tentativ\w*|preliminar\w*|seeming\w*|apparent\w*|arguabl\w*|hopeful\w*|intuiti\w*|"
    r"initial\w*|alleged\w*|reported\w*|according|for\s+now|at\s+(?:first|best)|face\s+of\s+it|one\s+hand|sense|loosely|"
    r"converse\w*|reverse|negated|previous|original|fuzzy|without\s+(?:the\s+)?(?:\w+\s+)?premise|"
    r"whoever|anyone|some(?:one|body)|nobody|no\s+one|regarding|concerning|"
    r"ask(?:s|ed|ing)|about|as\s+(?:for|to)|questions?)\b|\?",
    re.IGNORECASE,
)
DENIED_BEFORE = re.compile(
    r"\b(?:wrong\s+to|(?:do\s+not|don't|never|cannot|can't)\s+(?:say|answer|write|conclude)|"
    r"(?:following|this)\s+is\s+(?:false|wrong|incorrect|untrue|not)|(?:not\s+true|false|untrue)\s+that|"
    r"not\s+the\s+case\s+that|format|template|example)\b[^.!?\n]*\Z|"
    r"\A\W*(?:if|when|in\s+case|suppose|assume|case|row|otherwise|else|or)\b[^.!?\n]*:\Z|"
    r"\A\W*(?:for|in|with|at|under)\b[^.!?\n]*(?:\brow\b|=\s*(?:t|f|true|false|[01])\b)[^.!?\n]*:\Z|"
    r"\b(?:options?|outputs?|choose|one\s+of)\b[^.!?\n]*:\Z",
    re.IGNORECASE,
)
"""The end of a line that denies, supposes or only quotes the answer on the next line."""
QUESTION = re.compile(r"\W*(?:is|are|was|can|does|do|must|what|how)\b", re.IGNORECASE)
RETRACTION = re.compile(
    r"\b(?:actually|wait|wrong\w*|mistake\w*|mistook|incorrect\w*|oops|sorry|apolog\w+|correction|"
    r"scratch|ignore|disregard|retract\w*|withdraw\w*|revok\w+|revis\w+|(?:take|took)\s+(?:that|it|"
    r"this)\s+back|second\s+thoughts?|reconsider\w*|disagree\w*|kidding|jok\w+|trick\w*|lie|lied|"
    r"lying|opposite|instead|hold\s+on|hmm+|not\s+so\s+fast|just\s+an?\s+example|only\s+an?\s+"
    r"example|never\s*mind|however|unsure|uncertain|not\s+(?:sure|certain)|unclear|untrue|doubt\w*|"
    r"meant|rather|caveats?|for\s+now|on\s+the\s+other\s+hand|then\s+again|maybe|perhaps|possibly|probably|changed?\s+my"
    r"|strike\s+that|or\s+(?:not|yes|no|none)|erroneous\w*|error|bogus|nonsense|refuse|pretend\w*|"
    r"change\s+(?:to|it)|(?:this|that|it|above|answers?|assignment|solution|case|which)\s*(?:"
    r"(?:is|was|are)\s+not|isn't|wasn't|'s\s+not)\s+(?:\w+\s+)?(?:right|correct)|"
    r"(?:does\s+not|doesn't|do\s+not|don't)\s+work)\b|"
    r"\bthat\s+I\s+know|\bthere\s+(?:may|might)\b|\?!|[❌✗✘✖]|~~(?=\S)[^~\n]*[^\s~(]~~",
    re.IGNORECASE,
)
BOLD_AT_END = re.compile(r"\*\*([^*\n]+)\*\*[\s.!)\]]*\Z")
END = re.compile(r"[\s$\\)\]}*_`\"'”’.!]*(?:\Z|[.,;:(–—-]|because\b|since\b)", re.IGNORECASE)
THINKING = re.compile(
    r"<(think(?:ing)?|thought|reasoning)>.*?(?:</\1>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z)|"
    r"◁think▷.*?(?:◁/think▷|\Z)|<\|begin_of_thought\|>.*?(?:<\|end_of_thought\|>|\Z)|"
    r"<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
THOUGHT = re.compile(
    r"</(?:think(?:ing)?|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|"
    r"<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
TURN = re.compile(
    r"</s>|<\|(?:im_|eo[tms]|end|start|return|begin_of_|user|assistant|system)[\w-]*\|>|"
    r"<｜[^｜\n]{1,40}｜>|<(?:pad|end_of_turn|start_of_turn|eos|bos)>|\[/?INST\]",
    re.IGNORECASE,
)
"""A token of a chat template."""
BEFORE_TURN = re.compile(
    rf"(?:\s|(?:{TURN.pattern})(?:\s*(?:assistant|model)\b(?=\s*(?:\n|<)))?)*", re.IGNORECASE
)
MARKED_ANSWER = re.compile(
    r"answer[\s*_]*:[\s*_]*(?:yes|no)\W{1,5}or\W{1,5}answer[\s*_]*:[\s*_]*(?:yes|no)\b|"
    r"(?P<mark>(?<![\"“'])\b(?<!to )answer[\s*_]*:[ \t*_]*[^\s*_]|\\boxed\s*\{|<answer>)",
    re.IGNORECASE,
)
"""The `mark` of an answer, or "Answer: yes or Answer: no", which quotes the question."""
CHECKS_AGAIN = re.compile(
    r"\b(?:(?:double-?)?check\w*|verif\w+|formali[sz]\w+|let\s+(?:me|us)|let's|again|re-?read\w*|"
    r"wait|hmm+|actually|reconsider\w*|hold\s+on|however|but)\b",
    re.IGNORECASE,
)
"""What a model says before it restates its own problem; one that is not stopped just goes on."""
PREMISE = re.compile(
    r"^[^\w\n]*(?:(?:user|human|question|problem|example|q)\b[\s\d*_]*:[\s*_]*)?"
    r"Premises?[*_]*:[\s*_]*(?:1[.)]\s*)?(?P<formula>[^\n]*)"
    r"(?P<asked>(?=\n(?:[^\n]*\n){0,40}?(?:[^\w\n]*Conclusion\W{0,8}:|State a conclusion)))?",
    re.IGNORECASE | re.MULTILINE,
)
"""A line with a premise; it is `asked` about if a conclusion or a question follows."""
CHECKED = re.compile(r"[=✓✔✅]|\b(?:[TF01]|(?i:true|false|satisfied|holds))\b")
"""What says that a premise is true or false."""
OWN_PREMISE = re.compile(r"^(?:Premise: |\d+\. )\$?(.*?)[.$]?$", re.MULTILINE)
CHARACTERS = str.maketrans("，、；：。（）", ",,;:.()", "\ufe0f\u200b\u200c\u200d\u2060\ufeff")
"""Punctuation of Chinese and Japanese, and characters that are removed; the first of these turns ✔
into an emoji."""
BOX = re.compile(r"<\|(?:begin|end)_of_box\|>")
TEXT = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|textit|texttt|textrm|textsf|mathtt|mathsf|operatorname)\s*"
    r"\{([^{}]*)\}"
)
CLOSING_TAG = re.compile(r"\A[\s$.\\)\]]*</answer>", re.IGNORECASE)
DISPLAY = re.compile(r"(?:\$\$|\\\[)\s*\n\s*")
"""The start of a displayed formula."""
WRAPPERS = (
    (re.compile(r"</?(?:b|i|em|strong|br)\s*/?>", re.IGNORECASE), " "),
    (re.compile(r"<(/?)final[_ -]answer>", re.IGNORECASE), r"<\1answer>"),
    (re.compile(r"</?(?:output|response|result|solution|final)>", re.IGNORECASE), " "),
    (re.compile(r"\A((?:(?!<answer>).)*)</answer>", re.IGNORECASE | re.DOTALL), r"\1"),
    (
        re.compile(
            r"(boxed\s*\{(?:\s*\\text\s*\{)?|<answer>)[ *_]*\n?[ *_]*(?:the\s+)?(?:final\s+)?"
            r"answer(?:\s+is\b|\s*:)(?=[\s*_:])",
            re.IGNORECASE,
        ),
        r"\1",
    ),
)
"""Tags that mark nothing, and "Answer:" within another mark of an answer."""
