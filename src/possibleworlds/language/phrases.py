"""Phrases that say yes or no, give a reason, or take an answer back, as regular expressions."""

import re

ADVERBS = (
    r"(?:(?:clearly|definitely|necessarily|logically|always|indeed|certainly|also|still|"
    r"in\s+fact)\s+)*"
)
SUBJECT = (
    r"(?:it|this|(?:the|this)\s+(?:given\s+|stated\s+)?(?:conclusion|argument|inference|entailment|"
    r"implication|deduction|reasoning|consequence)|conclusion)"
)
PREMISES = r"(?:the\s+)?(?:given\s+|stated\s+)?premises?"
SOURCE = rf"(?:\s+(?:{ADVERBS})?(?:from|by|of)\s+(?:{PREMISES}|it|them|A))?"
CONSEQUENCE = (
    r"an?\s+(?:logical|semantic|valid|necessary)\s+(?:consequence|entailment|inference|argument)|"
    r"a\s+consequence"
)
TARGET = r"(?:the\s+)?conclusion"
COUNTERMODEL = r"(?:countermodels?|counterexamples?|counter-examples?|counter-models?|refutations?)"
CASE = (
    rf"(?:{COUNTERMODEL}|(?:truth\s+)?assignments?|valuations?|cases?|rows?|models?|"
    r"interpretations?)"
)
PREMISES_TRUE = (
    r"(?:(?:all|both|each)\s+)?(?:of\s+)?(?:the\s+)?premises?\s*[:=]?\s*(?:(?:is|are|be|can|both|all|come\w*|"
    r"out|evaluates?|to)\s+)*(?:true|T|hold|holds)"
)
CONCLUSION_FALSE = (
    r"(?:the\s+)?conclusion\s*[:=]?\s*(?:(?:is|be|can|comes?|out|evaluates?|to)\s+)*"
    r"(?:false|F|fails|untrue|not(?:\s+true)?|does\s+not(?:\s+hold)?|doesn't(?:\s+hold)?)"
)
JOINED_TO = r"(?:,?\s+(?:and|but|while|whereas|yet|with)\s+(?:still\s+|yet\s+)?|[,;]\s+)"
REFUTED = (
    rf"(?:{PREMISES_TRUE}{JOINED_TO}{CONCLUSION_FALSE}|"
    rf"{CONCLUSION_FALSE}{JOINED_TO}{PREMISES_TRUE}|"
    r"true\s+premises?\s+(?:and|with|but)\s+an?\s+false\s+conclusion)(?!\w)"
)
"""The premises are true and the conclusion is false."""
THAT_REFUTES = (
    rf"\s+(?:in\s+which|for\s+which|where|that\s+makes?|making|such\s+that|with)\s+{REFUTED}"
)
REFUTING = rf"(?:\s+exists?|\s+to\s+(?:the\s+argument|it|this|{TARGET})|{THAT_REFUTES})?"
"""What is said of a case that does not exist."""
DETAILS = (
    rf"(?:\s+exists?|\s+to\s+(?:the\s+argument|it|this|{TARGET})|"
    r"\s+(?:in\s+which|where|that\s+makes?|making|such\s+that)\b(?:(?!\b(?:but|may|might|know)\b)"
    r"[^.;?\n])*)?"
)
"""What is said of an existing countermodel."""
YES = re.compile(
    rf"""[✅✔✓☑]?\s*(?:
      (?:yes\s+)?{SUBJECT}\s+{ADVERBS}(?:does\s+)?{ADVERBS}(?:follows?|holds?){SOURCE}
    | (?:yes\s+)?(?:{SUBJECT}\s+is|it's)\s+{ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | {PREMISES}\s+{ADVERBS}(?:does\s+|do\s+)?{ADVERBS}(?:entails?|impl(?:y|ies))\s+{TARGET}
    | (?:A|P|{PREMISES})\s*(?:⊨|\|=|\\models|\\vDash|\bentails\b)\s*(?:B|C|{TARGET})
    | (?:there\s+(?:is|are|exists?)\s+)?no\s+
      (?:(?:such\s+)?{COUNTERMODEL}{REFUTING}|{CASE}{THAT_REFUTES})
    | (?:yes\s+)?it\s+does
    | yes|yep|yeah|true|valid|entailed|entailment|entails|follows|holds|correct|y
    )(?!\w|/|'\w)(?:[\s*.!]*[✅✔✓☑])?""",
    re.IGNORECASE | re.VERBOSE,
)
NEGATION = (
    r"(?:does\s+not|doesn't|do\s+not|don't|cannot|can't|can\s+not|fails?\s+to|need\s+not|"
    r"doesnt|dont|cant)"
)
NO = re.compile(
    rf"""[❌✗✘✖🚫]?\s*(?:
      (?:no\s+)?(?:{SUBJECT}\s+)?{NEGATION}\s+{ADVERBS}(?:follow|hold){SOURCE}
    | (?:no\s+)?(?:{SUBJECT}\s+(?:is\s+not|isn't)|it's\s+not)\s+
      {ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | {SUBJECT}\s+(?:is\s+{ADVERBS}invalid|fails)
    | {PREMISES}\s+{NEGATION}\s+{ADVERBS}(?:entail|imply)\s+{TARGET}
    | (?:{NEGATION}\s+entail)
    | (?:A|P|{PREMISES})\s*(?:⊭|\|/=|\\nvDash|\\not\s*\\(?:models|vDash)|\bdoes\s+not\s+entail\b)
      \s*(?:B|C|{TARGET})
    | ⊭
    | there\s+(?:is|exists)\s+an?\s+{COUNTERMODEL}{DETAILS}
    | an?\s+{COUNTERMODEL}\s+(?:exists|is\b[^.;\n]*)
    | (?:no\s+)?it\s+(?:does\s+not|doesn't)
    | not\s+{ADVERBS}(?:entailed|valid|implied) | not\s+(?:necessarily|always)
    | no|nope|false|invalid|n | non-?entail(?:ment|ed)|unentailed
    )(?!\w|/|'\w)(?:[\s*.!]*[❌✗✘✖])?""",
    re.IGNORECASE | re.VERBOSE,
)
START = " ∴\t\r\n*_`\"'“„‘«「([{<>$.,:#\\-–"
EDGE = " \t\r\n*_`\"'“”‘’«»「」()[]{}<>$.。!！,:;#\\∎□■✅✔✓☑😊🙂👍🎉🎯💯🚫…"
"""Characters that may precede an answer, and that may follow it."""
SEPARATOR = re.compile(
    r"[\s*_`\"'”’)\]}>$\\]*(?:[.,;:!(\[–—-]+[\s*_`\"'(“$\\]*(?:(?:and|so|thus|therefore|hence|i\.e\.)\b"
    r"[,\s]*)*|(?:and|so|thus|therefore|hence)\b[,\s]*|(?=because\b|since\b|by\b))",
    re.IGNORECASE,
)
RULE = (
    r"(?:(?:hypothetical|disjunctive)\s+syllogism|modus\s+(?:ponens|tollens)|contraposition|"
    r"contrapositive|transitivity|simplification|resolution|de\s+morgan|absorption|addition|"
    r"chain(?:ing)?\s+rule|chaining|syllogism|"
    r"[∧∨→¬]\s?-?(?:elim\w*|intro\w*|E|I)|"
    r"(?:(?:con|dis)junction|implication|conditional)[\s-]+(?:elimination|introduction))\b"
)
"""A rule of inference."""
REASON = re.compile(
    rf"{RULE}|i\s+hope\b|"
    r"(?:because|since|as(?!\s+(?:long|far)\b)|always|vacuously|trivially|tautology|there|the|this|that|it|its|any|every|"
    r"each|all|both|no|we|by|"
    r"in\s+(?:every|each|all|any)|whenever\s+(?:the|all)\s+(?:the\s+)?premises?|whatever|explanation|reasons?|reasoning|proof|"
    r"justification|note|premises?|conclusion|valid|entail(?:ment|ed)|qed)\b|q\.e\.d\.",
    re.IGNORECASE,
)
"""The start of a reason on the same line."""
CERTAINLY = re.compile(
    r"(?:definitely|certainly|clearly|absolutely|of\s+course|for\s+sure)"
    r"(\s+not)?[\s.!*_]*(?:\n|\Z)",
    re.IGNORECASE,
)
"""What stresses a yes, or with "not" a no."""
CASE_IN_POINT = re.compile(
    r"(?:when|if|for|with|take|consider|let|under|in|an?|one|some|setting|assigning|"
    r"countermodel|counterexample|at|given|suppose|assuming|where)\b|e\.g\."
    r"|[A-Za-z]\w*\s*(?:=|:|is\b|,|→|↦)",
    re.IGNORECASE,
)
"""More ways to start a reason for a no; a yes in one case is not a yes."""
UNCERTAIN = r"(?:\bI\s+(?:do\s+not|don't)\s+know\b|\bguess\w*\b)"
THIS = r"(?:it|this|that|conclusion|argument|inference|entailment)"
NO_CASE = r"(?!\s+(?:if|when(?:ever)?|in|for|only|unless|that|where|under|at)\b)"
CONTRARY = {
    True: re.compile(
        rf"""
          {NEGATION}\s+(?:\w+\s+)?(?:follow|entail|hold|imply|guarantee)
        | \b(?:not|n't)\s+(?:\w+\s+){{0,2}}(?:valid|entailed|implied|consequence)
        | \b(?:cannot|can't|can\s+not)\s+(?:be\s+)?(?:infer|conclu|deriv|deduc)
        | \bconclusion\s+(?:is\s+not|isn't|(?:need|may|might|must)\s+not)\s+
          (?:(?:be|necessarily|always)\s+)*(?:true|guaranteed)
        | (?:\A|[.!,;\n])\s*(?:but\s+)?the\s+conclusion\s+
          (?:is|(?:can|may|might|could)\s+(?:still\s+)?be)\s+false\b(?!\s+(?:only|in\s+no)\b)
        # whole sentences: "No.", "But that is false."
        | \banswer\s+no\b | \bno\b\s*[.,!;:] | \byes\s+and\s+no\b
        | (?:\A|[.!\n])\s*(?:but\s+)?
          (?:(?:that|this|it)(?:'s|\s+is)\s+(?:false|not)|not|it\s+does\s+not|it\s+doesn't)
          [\s.!]*(?:\Z|\n)
        | \b(?:argument|inference|entailment)\s+fails | \b(?:claim|statement)\s+is\s+false
        | \binvalid | ⊭ | \bfallac | \bunsound | \bfalsif | \bdisprove | \bnegate\b
        | \bviolat(?!\w*\s+(?:(?:the|an?|one|either|of)\s+)*premis)
        # a countermodel
        | \brefute[sd]?\b | \b{COUNTERMODEL}\b | {REFUTED}
        | \bthere\s+(?:is|are|exists?)\s+(?:an?|one|some|several|many)\s+{CASE}
        | \bis\s+one\b(?!\s+of\b) | \bsuch\s+an?\s+{CASE}\s+exists\b
        | \b(?:this|that|which|it)\s+(?:is\s+(?:indeed\s+)?possible|happens)\b
        | \b(?:cannot|can't|no\s+way|nothing|not\s+possible|impossible)\b[^.;:\n]{{0,40}}?
          \b(?:follows?|entails?|valid)\b
        # exceptions and conditions: "in all cases but p = T", "it holds only if q"
        | \b(?:except|exception\w*|but\s+one|isn't|apart\s+from|bar(?:ring|\s+(?:one|the))|
          other\s+than|excluding|save\s+(?:for|one)|provided|unless|assumption\s+that)\b
        | (?<![.!\n]\s)\bbut\s+\w+\s*=
        | (?:\A\W*|\b(?:follows?|holds?|valid|entailed|yes|answer|this|that|it|is)\W+)
          only\s+(?:when|if)\b
        | {UNCERTAIN}
        """,
        re.IGNORECASE | re.VERBOSE,
    ),
    False: re.compile(
        rf"""
          \byes\b
        | \b(?:it|this|argument|conclusion|inference|entailment)\s+is\s+(?:\w+ly\s+)?
          (?:valid|entailed|implied)\b(?!\s+(?:if|only|when|iff|just|in)\b)
        | \bargument\s+is\s+valid\b | \b(?:entailment|argument)\s+(?:holds|is\s+correct)\b
        | (?<!not\ )\b(?:follows|is\s+valid|holds)\b(?!\s+that)\s+from
        | \b(?:it|conclusion)\s+{ADVERBS}follows\b(?!\s+that)
        | \b(?:so|hence|thus|therefore)\b[,\s]+(?:it(?:'s|\s+is)\s+)?(?:an?\s+)?valid\b
        | \bpremises?\s+(?:do(?:es)?\s+)?(?:entails?|impl(?:y|ies)|guarantees?)\b
        # no countermodel
        | \bno\s+(?:such\s+)?{CASE}\b
        | \b(?:assignment|case|countermodel)\s+(?:does\s+not|doesn't)\s+exist
        | \b(?:isn't|(?:not|n't)\s+find)\s+an?y?\s+counter
        | \b(?:nothing|nobody|impossible|cannot|can't|never|no\s+way)\b[^.;!?\n]{{0,40}}?
          \b(?:refut|falsif|disprov) | \birrefutabl
        | \b(?:nothing|no\s+way|impossible|not\s+possible|never|cannot)\b[^.;:\n]{{0,40}}?{REFUTED}
        # the conclusion is true in all cases, or in all in which the premises are
        | \bcan\s+(?:infer|conclude|derive|deduce)\s+the\s+conclusion
        | \bevery\s+model\s+of\s+the\s+premis
        | \bwhenever\s+the\s+premises?\b[^.;\n]{{0,30}}?
          \bconclusion\s+(?:holds|must|is\s+(?:also\s+)?true)
        | \b{THIS}\s+(?:cannot|can't|can\s+not|(?:can\s+|could\s+)?never|could\s+not)\s+(?:be\s+)?
          (?:false|untrue|wrong|invalid|fails?)\b
        | \b{THIS}(?:'s|\s+is)\s+
          (?:(?:always|necessarily)\s+true|{ADVERBS}guaranteed|a\s+tautology)\b{NO_CASE}
        | \b{THIS}\s+must\s+(?:{ADVERBS}be\s+true|hold|follow)\b{NO_CASE}
        | \bconclusion\s+(?:must\s+be|is\s+(?:always|necessarily))\s+true
        | \b(?:so|hence|thus|therefore)[,\s]+the\s+conclusion\s+must\s+be\s+true
        | \bconclusion\s+(?:is|holds)\s+(?:(?:also|always)\s+)*(?:true\s+)?
          (?:when(?:ever)?|if|in\s+(?:every|all|each))\s+(?:(?:all|the)\s+)*
          (?:premises?\s+(?:is|are|holds?)|cases?|rows?)\b
        | \bin\s+every\s+case\s+(?:where|in\s+which)\s+the\s+premises?\s+(?:is|are)\s+true,?\s+
          the\s+conclusion\s+is\s+(?:also\s+)?true
        | \bwhenever\s+the\s+premises?\s+(?:is|are)\s+true,?\s+so\s+is\s+the\s+conclusion
        | \b(?:every|each|all|any)\s+(?:cases?|rows?)\s+with\s+(?:an?\s+)?true\s+premises?
        | \bnegate\b | {UNCERTAIN}
        """,
        re.IGNORECASE | re.VERBOSE,
    ),
}
"""Statements that take back an earlier yes, or an earlier no."""
WEAK = re.compile(r"\b(?:true|false|holds?|fails?|correct|[yn])\b", re.IGNORECASE)
"""Words that decide only if they are the whole reply or marked as its answer; elsewhere they may be
about a single case."""
ALL_CASES = re.compile(
    rf"\b(?:every|each|any|all|no)\s+(?:of\s+)?(?:(?:the|these|such|single|possible|other)\s+)*{CASE}|"
    rf"\b(?:if|when(?:ever)?|suppose|assume)\s+(?:that\s+)?(?:all\s+)?{PREMISES}\s+(?:is|are|holds?)\b",
    re.IGNORECASE,
)
"""What is about all cases, or about all in which the premises are true."""
ONE_CASE = re.compile(
    r"\b(?:case|row|step|assignment|valuation|interpretation|scenario|here)\b|"
    rf"\b(?:some|most|many|several|these|those)\s+(?:of\s+the\s+)?(?:values|{CASE})\b",
    re.IGNORECASE,
)
"""A single case, unless it stands for all, or some cases."""
SUPPOSES = re.compile(r"\b(?:suppos\w+|assum\w+|if|when(?:ever)?|so\s+far)\b", re.IGNORECASE)
GIVES_VALUES = re.compile(
    r"\b(?:consider|take|let(?!\s+(?:me|us)|'s)|setting)\b|(?:=|\bwith\s+\w+)\s*(?:true|false|[tf01])\b",
    re.IGNORECASE,
)
BARE = re.compile(
    r"\W*(?:none|(?:yes|yep|no|nope|null|n/?a|impossible|true|false|[yn])\b(?!\s*\w))",
    re.IGNORECASE,
)
HEADING_LINE = re.compile(r"\s*#|.*[:*_–—-]\s*\Z|[^|=.!?]{0,40}\Z")
"""An answer of one word, and a line above it that it may answer."""
NUMBERED = re.compile(r"\A\W*\d+[.)]\s")
PREMISE_LINE = re.compile(r"^\W*premises?\W*:", re.IGNORECASE | re.MULTILINE)
LABELLED = re.compile(
    r"\A\W*(?:(?:is\s+)?(?:valid(?:ity)?|entail(?:s|ed|ment)?|follows))\W*[:=]\W*"
    r"(?:(yes|true)|no|false)\W*\Z",
    re.IGNORECASE,
)
LABELLED_INVALID = re.compile(r"\A\W*(?:in|not\s+)valid\W*[:=]", re.IGNORECASE)
DIRECT_QUESTION = re.compile(
    rf"""\W*(?:(?:so|now|then|thus|finally|question|q|step\s+\d+)\b[\s:,.*_]*)*(?:
      (?:does|do)\s+{SUBJECT}\s+{ADVERBS}(?:follow|hold){SOURCE}
    | is\s+{SUBJECT}\s+{ADVERBS}(?:valid|entailed|implied|{CONSEQUENCE}){SOURCE}
    | (?:does|do)\s+{PREMISES}\s+{ADVERBS}(?:entail|imply)\s+{TARGET}
    | (?:is\s+it\s+)?(?:valid|entailed|follows)
    | what\s+is\s+(?:the|my|our|your)\s+(?:final\s+)?(?:answer|verdict)
    | what\s+(?:do|can|should)\s+we\s+conclude
    )[\s?*_"')]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""A question whose yes is a yes of the reply."""
OTHER_ANSWER = re.compile(
    r"^[^\w\n]*\w[\w '’]{0,24}?[\s:,>=→*_-]+(?:(yes)|no)[\s.!*_]*$", re.IGNORECASE | re.MULTILINE
)
"""A line that ends in yes or no, after a few words."""
NO_COUNTERMODEL = re.compile(
    rf"\b(?:no|without(?:\s+an?y?)?)\s+(?:such\s+)?{CASE}(?:[^.;\n]{{0,80}}?{REFUTED}|"
    rf"\s+(?:is\s+an?\s+{COUNTERMODEL}|(?:violat|refut|falsif|disprov)\w+))?|"
    rf"\bthere\s+(?:isn't|is\s+not|aren't|are\s+not)\s+an?y?\s+{COUNTERMODEL}|"
    r"\b(?:cannot|can't|nothing|impossible\s+to)\s+(?:can\s+)?(?:be\s+)?"
    r"(?:refute|falsif|disprove)\w*|"
    rf"\b{COUNTERMODEL}\s*:\W*none\b|"
    rf"\b(?:not\s+possible|no\s+way)\b[^.,;:\n]{{0,20}}?{REFUTED}|"
    rf"\b(?:cannot|can't|never|impossible|would|needs?|requires?)\b[^.;\n]{{0,80}}?{REFUTED}",
    re.IGNORECASE,
)
"""Denials that a countermodel exists, and what it would be like."""
SUPPOSED = re.compile(
    r"\b(?:suppos|assum)\w+"
    r"(?:,?\s+(?:that|instead|(?:for|towards?)\s+(?:an?\s+)?contradiction)\b)*"
    rf",?\s+{REFUTED}|"
    rf"\b(?:look|search|hunt)\w*\s+for\s+(?:an?y?\s+)?{COUNTERMODEL}[^.;:\n]{{0,20}}?\bnone\b|"
    rf"\b{COUNTERMODEL}\s+(?:would(?!\s+be\b)|must(?!\s+exist)|needs|requires|has\s+to|"
    r"fails|(?:leads?\s+to|is)\s+(?:an?\s+)?(?:contradict\w+|impossib\w+))\b|"
    r"\bto\s+(?:refute|falsify|disprove)\s+[^.,;:\n]{1,20},\s+(?:we|one|you|i|it)\s+"
    r"(?:would|must|needs?|ha(?:s|ve)\s+to)\b|"
    rf"\b(?:only|potential|possible|any)\s+(?:\w+\s+)?{COUNTERMODEL}\s+would\s+be\b|"
    r"\bpremises?\s+(?:\(?\d+\)?\s+)?(?:is|are|gets?)\s+violated\b|"
    r"\bnot\s+(?:an?|the)\s+(?:\w+\s+)?fallacy\b|"
    r"\bthe\s+conclusion\s+is\s+false,?\s+(?:but|and|which)\s+(?:(?!\b(?:not?|neither)\b|n't)"
    r"[^.;:\n]){0,40}?\bpremises?\s+(?:\d+\s+)?(?:(?:or|is|are|premise|\d+)\s+)*false\b",
    re.IGNORECASE,
)
"""What a proof that there is no countermodel says of one."""
SENTENCES = re.compile(r"[^.!?…\n]*(?:[.!?…\n]+[\"')*_\s]*|\Z)")
MAX_QUESTION = 300
ANSWERED_NO = re.compile(r"[\s*_]*no\b(?=[\s*_]*(?:[.,;!(:–—\n-]|\Z))", re.IGNORECASE)
OF_COUNTERMODEL = re.compile(
    rf"(?!.*\b(?:not?|never|cannot|always|only|without)\b|.*n't\b).*"
    rf"(?:\b{COUNTERMODEL}\b|\bconclusion\b.*\b(?:false|fail)|\bfalse\s+conclusion\b)",
    re.IGNORECASE,
)
"""A no to a question, and a question whether there is a countermodel."""
COUNTEREXAMPLE = re.compile(rf"\b{COUNTERMODEL}\b|{REFUTED}", re.IGNORECASE)
REASON_BEFORE = re.compile(r"\A\W*(?:since|because|as|given\s+that)\b", re.IGNORECASE)
HEDGE = re.compile(
    r"(?<!at )\bmost(?:ly)?\b|\b(?:majority|usually|sometimes|often|luck|partly|partially)\b",
    re.IGNORECASE,
)
MAX_LINES = 100
"""How many lines after an answer may contradict it."""
OFFER = re.compile(r"(?:\A|(?<=[.!\n]))[^.!?\n]*\?\s*\Z")
"""A closing question, such as whether to explain more."""
VERDICT = re.compile(
    r"\A\W*(?:(?:final|verdict|result|decision|conclusion)\b[^:\n]{0,20}:|"
    r"(?:(?:so|my|the|final)\s+)*(?:verdict|decision)\s+is\b)",
    re.IGNORECASE,
)
OPENING = re.compile(
    r"\A([^\n]+)\n\W*((?:explanation|reason(?:s|ing)?|proof|justification|because|here's\s+why|"
    r"this\s+is\s+because)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A first line that decides, followed only by reasons."""


FOLLOWS = re.compile(
    r"[^,.;\n]{1,60}?\s(?:(?:directly|immediately|clearly|always)\s+)*"
    r"(?:follows?|entails?|implies|is\s+(?:one\s+of|an?\s+(?:conjunct|consequence)))\b",
    re.IGNORECASE,
)
NOT_FOLLOWS = re.compile(
    rf"[^,.;\n]{{1,60}}?\s(?:{NEGATION}|may|might|could|can)\s+(?:\w+\s+)?"
    r"(?:follow|entail|imply|be\s+(?:true|false))\b",
    re.IGNORECASE,
)
"""A reason that names formulas: "q follows from p ∧ q", "q does not follow"."""
CONDITION = re.compile(
    r"\b(?:if|when|assum\w+|suppos\w+|given|provided|as\s+long\s+as|except|unless|in\s+(?:case|row|some)|"
    r"draft|tentativ\w*|pending|yet|but|though|although|caveats?|he|she|they|row)\b|[a-z]\w*\s*=|\?",
    re.IGNORECASE,
)
IF_IT_WERE = re.compile(r"\bif\s+[^,.;\n]{1,40}?\s(?:were|was)\b", re.IGNORECASE)
"""What makes an answer conditional, and what does not."""
OF_CONVERSE = re.compile(
    r"\b(?:converse|reverse\s+(?:direction|implication)|other\s+direction)\b", re.IGNORECASE
)
"""What a sentence about the other direction contains."""
