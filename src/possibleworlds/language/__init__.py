"""Questions about entailment for language models, and their exact scores."""

from possibleworlds.language.dataset import LEVELS, Tasks, TaskSettings, tasks
from possibleworlds.language.item import Item
from possibleworlds.language.score import Score, all_four, score
from possibleworlds.language.wording import Wording

__all__ = [
    "LEVELS",
    "Item",
    "Score",
    "TaskSettings",
    "Tasks",
    "Wording",
    "all_four",
    "score",
    "tasks",
]
