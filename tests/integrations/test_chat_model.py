"""The chat endpoint with a language model behind it: tiny and random, for the plumbing alone."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

from possibleworlds.data.pairs import Pair  # noqa: E402
from possibleworlds.integrations.chat import Endpoint, ReplyCache, evaluate_chat  # noqa: E402
from tests.integrations.tiny import tiny_model  # noqa: E402


def test_replies_of_a_model_are_read_and_counted(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request: dict[str, Any] = json.loads(
                self.rfile.read(int(self.headers["Content-Length"]))
            )
            text = tokenizer.apply_chat_template(
                request["messages"], tokenize=False, add_generation_prompt=True
            )
            prompt = tokenizer(text, return_tensors="pt")
            with torch.no_grad():
                made = model.generate(
                    **prompt, max_new_tokens=min(16, request["max_tokens"]), do_sample=False
                )
            own = made[0, prompt["input_ids"].shape[1] :]
            message = {"role": "assistant", "content": tokenizer.decode(own)}
            usage = {"prompt_tokens": prompt["input_ids"].shape[1], "completion_tokens": len(own)}
            body = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        endpoint = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", "tiny")
        pairs = [Pair("pq&", "q", True), Pair("pq|", "q", False)]
        result = evaluate_chat(endpoint, pairs, ReplyCache(tmp_path / "replies.jsonl"))
    finally:
        server.shutdown()
        server.server_close()
    assert len(result.scores) == 2
    assert result.prompt_tokens > 100
    assert 2 <= result.completion_tokens <= 32
