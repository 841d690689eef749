"""The assistant behind a gateway: chat completions over `transport`, at most so many at once, resumable.

Sends the document as Open WebUI does (a <source> block in the question), a retrieval score so that the grounding gate
lets the question through, and asks every cache to stand aside; reads from the headers whether one did not, and the HMAC
of the masked prompt. No verdict here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .journal import Journal
from .ports import Ask, Failure, GateUnavailableError, Progress, Reply
from .transport import CallFailedError, Endpoint

MASKED_HEADER: Final = "x-compliance-prompt-hmac"
RETRIEVAL_SCORE: Final = 0.99
GIVE_UP: Final = 12
"""A model that failed so often in a row, each time after all retries, is not asked again in this run."""
_DOWN: Final = frozenset({Failure.SERVER, Failure.RATE, Failure.TIMEOUT, Failure.UNREADABLE})
_CACHES: Final = ("x-cache", "x-cache-status", "x-proxy-cache", "cf-cache-status", "cache-status", "x-cache-lookup")


@dataclass(frozen=True)
class GatewayAssistant:
    """An `Assistant` over HTTP. `temperature` None leaves the gateway's own setting, which is what users get."""

    endpoint: Endpoint
    concurrency: int = 4
    temperature: float | None = None
    max_tokens: int | None = None
    journal: Journal | None = None
    _in_a_row: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def answer(self, asks: Sequence[Ask], progress: Progress | None = None) -> list[Reply]:
        """Every reply in the order asked. Raises GateUnavailableError as soon as the endpoint cannot be used."""
        replies: list[Reply | None] = [self.journal.get(ask) if self.journal else None for ask in asks]
        waiting = [place for place, reply in enumerate(replies) if reply is None]
        done = len(asks) - len(waiting)
        stop = threading.Event()
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="gate") as pool:
            futures = {pool.submit(self._one, asks[place], stop): place for place in waiting}
            try:
                for future in as_completed(futures):
                    place = futures[future]
                    reply = replies[place] = future.result()
                    if self.journal is not None and reply.text is not None and not reply.cached:
                        self.journal.add(asks[place], reply)
                    done += 1
                    if progress is not None:
                        progress(done, len(asks))
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
            finally:
                pool.shutdown()
                self.endpoint.close()
        return [reply or Reply(None, Failure.SERVER) for reply in replies]

    def _one(self, ask: Ask, stop: threading.Event) -> Reply:
        if stop.is_set() or self._in_a_row.get(ask.model, 0) >= GIVE_UP:
            return Reply(None, Failure.SKIPPED)
        reply = self._asked(ask, stop)
        self._in_a_row[ask.model] = self._in_a_row.get(ask.model, 0) + 1 if reply.failure in _DOWN else 0
        return reply

    def _asked(self, ask: Ask, stop: threading.Event) -> Reply:
        try:
            data, headers = self.endpoint.post("chat/completions", self._body(ask))
        except CallFailedError as error:
            return Reply(None, error.failure)
        except GateUnavailableError:
            stop.set()
            raise
        reply = Reply(None, Failure.UNREADABLE, served_from_cache(headers), headers.get(MASKED_HEADER))
        text = answer_text(data)
        if text is None:
            return reply
        return replace(reply, text=text, failure=None) if text.strip() else replace(reply, failure=Failure.EMPTY)

    def _body(self, ask: Ask) -> dict[str, Any]:
        name = ask.document_name.rsplit("/", 1)[-1].replace('"', "'")
        document = ask.document.replace("</source>", "< /source>")
        content = f'<source id="1" name="{name}">\n{document}\n</source>\n\n{ask.prompt.text}'
        body: dict[str, Any] = {
            "model": ask.model,
            "messages": [{"role": "user", "content": content}],
            "stream": False,
            "cache": {"no-cache": True, "no-store": True},
            "metadata": {
                "retrieval_score": RETRIEVAL_SCORE,
                "tags": ["compliance-gate", f"department:{ask.department}"],
            },
        }
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        return body


def answer_text(data: Any) -> str | None:
    """The text of a chat completion, None when the object has another shape."""
    try:
        content = data["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    if content is None:
        return ""
    # half an emoji, where the answer was cut, is legal JSON and no legal text: no file and no encoder takes it
    return content.encode("utf-8", "replace").decode("utf-8") if isinstance(content, str) else None


def served_from_cache(headers: Mapping[str, str]) -> bool:
    """Whether the gateway or a proxy before it says that the answer is an old one."""
    if headers.get("x-litellm-cache-hit", "").lower() == "true" or headers.get("x-litellm-cache-key"):
        return True
    return any("hit" in headers.get(name, "").lower() for name in _CACHES) or headers.get("age", "0").strip() not in {
        "",
        "0",
    }
