"""The reward for TRL, with its real trainer's data and call."""

import json

import pytest

pytest.importorskip("datasets", reason="datasets is not installed")

from possibleworlds.integrations.trl import prompts, reward


def test_the_reward_is_exact_for_texts_and_conversations() -> None:
    data = prompts("refute", size=12, seed=2)
    answers = [json.loads(item)["answer"] for item in data["item"]]
    texts = [f"Answer: {answer}" for answer in answers]
    talks = [[{"role": "assistant", "content": text}] for text in texts]
    parts = [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in texts]
    for completions in (texts, talks, parts):
        assert reward(completions, item=data["item"], prompts=data["prompt"]) == [1.0] * 12
    assert reward(["I give up"] * 12, item=data["item"]) == [0.0] * 12
    assert reward([[]] * 12, item=data["item"]) == [0.0] * 12


@pytest.mark.slow
def test_a_trainer_takes_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    trl = pytest.importorskip("trl", reason="trl is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from tests.integrations.tiny import tiny_model

    folder = tiny_model(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    config = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"),
        max_steps=1,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=8,
        report_to=[],
        use_cpu=True,
    )
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=config,
        train_dataset=prompts("decide", size=4),
    )
    trainer.train()
    assert trainer.state.global_step == 1
