"""The LiteLLM hook: `callbacks: ["compliance_guardrails.litellm_hook.hook"]`. It and `litellm_inside` import litellm.

It carries out what `decisions` decides, on /v1/chat/completions, /v1/completions, /v1/messages and /v1/responses,
streamed or not. An own failure never takes the gateway down: it is counted, logged without text, and the call goes on
or is refused as the policy's `on_error` says. No network on the request path but the self-evaluation.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from fastapi import HTTPException  # ty: ignore[import-not-found]
from litellm.integrations.custom_logger import CustomLogger  # ty: ignore[import-not-found]

from . import calls, events, selfeval
from .answers import NOT_GUARDED, blocked_codes, error_detail, findings_of, headers_of
from .asides import asides_of
from .calls import Call
from .decisions import After, after, before, read_score
from .detect.evidence import BiasDetectedError, BiasScreen
from .events import Delivered
from .litellm_inside import complete, deferral_known, log_stream
from .metrics import Metric, Stage
from .payloads import (
    UNEXAMINED,
    Endpoint,
    Slot,
    endpoint_of,
    put,
    question_of,
    slots_of,
    texts_of,
    unexamined_of,
    without_sources,
)
from .policy.types import OnError, Stream
from .runtime import LOG, Runtime, show_log
from .selfeval import Outcome
from .streams import FINDINGS_KEY, GAP, StreamGuard, StreamTooLongError
from .streams_events import dialect_of

_OFF_LOOP: Final = 200_000
"""Texts longer than this many characters are examined in a thread, so that other calls go on meanwhile."""

_ATTRIBUTE: Final = "compliance_guardrails_call"


class RefusedError(HTTPException):
    """A refusal of the hook. `message` is what the gateway shows people where it has no room for the detail."""

    def __init__(self, status: int, message: str, reason: str, **codes: Any) -> None:
        super().__init__(status, detail=error_detail(message, reason, codes))
        self.message = message


class RetrievalGroundingHook(CustomLogger):
    """Grounding gate, department prompt and routing, citation check, self-evaluation, attribute flag, bias screen."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.runtime = runtime
        self._defers = deferral_known()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """Decide a call before the model; HTTP 400 when it is refused."""
        del cache
        call_type = unexamined_of(data, call_type)
        endpoint = endpoint_of(call_type)
        runtime, started = self.runtime, time.perf_counter()
        try:
            if endpoint is None:
                refusal, reason = self._elsewhere(user_api_key_dict, data, call_type)
            else:
                refusal, reason = await self._before(user_api_key_dict, data, endpoint), "retrieval_gate_blocked"
        except Exception as error:  # noqa: BLE001 - an own failure must not take the gateway down
            self._failed(Stage.PRE_CALL, error, data, _call_of(data))
            return data
        if endpoint is not None:
            runtime.metrics.observe(Stage.PRE_CALL, time.perf_counter() - started)
        if refusal is not None:
            raise RefusedError(400, refusal, reason)
        return None if endpoint is None else data

    def _elsewhere(self, key: Any, data: dict[str, Any], call_type: str) -> tuple[str | None, str]:
        """Refusal and reason of a call that is not examined: a score below the floor, or a way round the guardrails."""
        runtime = self.runtime
        places = calls.score_places(data)
        way_round = call_type in UNEXAMINED
        if (not way_round and read_score(places).value is None) or calls.key_flag(key, calls.EXEMPT):
            return None, ""
        call = Call(Endpoint.CHAT, runtime.origin_of(calls.caller_of(key)), calls.own_trace_id(data))
        if way_round:
            LOG.warning("endpoint not guarded call_type=%s department=%s", call_type, call.origin.department)
            refusal, reason = NOT_GUARDED, "endpoint_not_guarded"
        else:
            decision = before(runtime.policy, runtime.rules, call.origin, None, places, "")
            runtime.report(call.trace_id, decision.events)
            refusal, reason = decision.refusal, "retrieval_gate_blocked"
        if refusal is not None:
            calls.stamp_refusal(data, call)
        return refusal, reason

    async def _before(self, key: Any, data: dict[str, Any], endpoint: Endpoint) -> str | None:
        runtime = self.runtime
        runtime.follow_the_day()
        policy = runtime.policy
        origin = runtime.origin_of(calls.caller_of(key))
        if calls.key_flag(key, calls.EXEMPT):
            runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.EXEMPT))
            return None
        call = calls.open_call(data, endpoint, key, origin)
        _remember(data, call)
        runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.PRE_CALL))
        asked = question_of(data, endpoint)
        question = without_sources(asked)
        places = calls.score_places(data)
        decide = partial(before, policy, runtime.rules, origin, data.get("model"), places, question)
        try:
            decision = decide() if len(question) <= _OFF_LOOP else await asyncio.to_thread(decide)
        except Exception as error:
            if policy.guardrails.on_error is OnError.REFUSE:
                raise
            # A question that cannot be examined has its gate and its prompt all the same.
            decision = before(policy, runtime.rules, origin, data.get("model"), places, "")
            runtime.failed(Stage.PRE_CALL, error)
        if policy.department(origin.department).layers.grounding:
            runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.GROUNDING))
        runtime.report(call.trace_id, decision.events)
        if decision.refusal is not None:
            calls.stamp_refusal(data, call)
            call.finished = True
            return decision.refusal
        calls.carry_out(data, call, decision, asked)
        calls.stamp(data, call)
        if self._defers and data.get("stream") is not True:
            # The log record is written after the answer is judged, so that it shows what the user saw.
            data["litellm_logging_obj"].defer_async_logging = True
        return None

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Judge a whole answer and change it in place; HTTP 400 when it is blocked."""
        del user_api_key_dict
        call = _call_of(data)
        if call is None or call.finished:
            return response
        try:
            slots = slots_of(response)
            asides = asides_of(response, {slot.text for slot in slots})
            verdict = await self._judge(call, texts_of(slots), asides) if slots or any(asides) else None
            if verdict is not None and verdict.block is None:
                self._deliver(call, slots, response, verdict)
                calls.stamp(data, call)
        except Exception as error:  # noqa: BLE001 - an own failure must not take the gateway down
            self._failed(Stage.POST_CALL, error, data, call)
            return response
        if verdict is not None and verdict.block is not None:
            self._refuse_biased(data, call, verdict.block)
        return response

    async def _judge(self, call: Call, texts: Sequence[str], asides: Sequence[str]) -> After:
        """Examine an answer, report, ask the small model where needed; fills `call.notices` and `call.headers`."""
        runtime, started = self.runtime, time.perf_counter()
        policy = runtime.policy
        department = call.origin.department
        examine = partial(after, policy, runtime.rules, call.origin, texts, asides=asides)
        try:
            verdict = examine() if sum(map(len, (*texts, *asides))) <= _OFF_LOOP else await asyncio.to_thread(examine)
        except Exception as error:
            if policy.guardrails.on_error is OnError.REFUSE:
                raise
            verdict = examine(citing=False)  # what the citation check cannot read is screened for bias all the same
            runtime.failed(Stage.POST_CALL, error)
        runtime.metrics.observe(Stage.POST_CALL, time.perf_counter() - started)
        runtime.metrics.count(Metric.REQUESTS, (department, Stage.POST_CALL))
        call.headers.update(headers_of(verdict, policy.guardrails.bias_screen_of(department).action))
        # Before the small model is asked: a client that leaves meanwhile has seen this answer, and it counts once.
        call.finished = True
        runtime.count_findings(department, [choice.screen for choice in verdict.choices])
        runtime.report(call.trace_id, verdict.events, verdict.scores)
        low = await self._self_evaluate(call, texts, verdict.doubtful)
        for at in low:
            call.notices[at] = policy.guardrails.messages.low_self_confidence
        if low:
            runtime.report(call.trace_id, [events.low_confidence(call.origin, 1)])
        return verdict

    def _deliver(self, call: Call, slots: Sequence[Slot], response: Any, verdict: After) -> None:
        """Put notices and findings into a whole answer."""
        for at, notice in call.notices.items():
            shown = [slot for slot in slots if slot.choice == at and slot.shown]
            for slot in shown[:1]:
                slot.replace(notice + GAP + slot.text)
                call.delivered = Delivered.PREPENDED
        if verdict.warn:
            put(response, FINDINGS_KEY, findings_of(verdict.warn))

    def _refuse_biased(self, data: dict[str, Any], call: Call, screen: BiasScreen) -> None:
        calls.stamp_refusal(data, call)
        policy = self.runtime.policy
        contact = policy.department(call.origin.department).contact
        cause = BiasDetectedError(screen.findings, screen.total, screen.threshold, screen.domain)
        message = policy.guardrails.messages.bias_blocked.format(contact=contact)
        raise RefusedError(400, message, "bias_detected", **blocked_codes(screen)) from cause

    async def _self_evaluate(self, call: Call, texts: Sequence[str], choices: Sequence[int]) -> tuple[int, ...]:
        """The choices that the small model rates at the bottom. A failure is an outcome, never an error."""
        if not choices:
            return ()
        asked = choices[: selfeval.MAX_CHOICES]
        ratings = [self._rate(call.question, texts[at]) for at in asked]
        # One choice is the usual case, and needs no task of its own.
        outcomes = [await ratings[0]] if len(ratings) == 1 else await asyncio.gather(*ratings)
        for outcome in outcomes:
            self.runtime.metrics.count(Metric.SELF_EVALUATION, (call.origin.department, outcome))
        return tuple(at for at, outcome in zip(asked, outcomes, strict=True) if outcome is Outcome.LOW)

    async def _rate(self, question: str, answer: str) -> Outcome:
        rule = self.runtime.policy.guardrails.self_evaluation
        started = time.perf_counter()
        try:
            reply = await asyncio.wait_for(
                complete(self.runtime.self_evaluation_model or rule.model, question, answer, rule.timeout_seconds),
                rule.timeout_seconds,
            )
        except TimeoutError:
            return Outcome.TIMEOUT
        except Exception as error:  # noqa: BLE001 - whatever the model server does, the answer goes on
            # LiteLLM wraps a time-out of the model server in its own class.
            timed_out = "timeout" in type(error).__name__.lower()
            return Outcome.TIMEOUT if timed_out else Outcome.UNAVAILABLE
        finally:
            self.runtime.metrics.observe(Stage.SELF_EVALUATION, time.perf_counter() - started)
        return selfeval.outcome_of(reply)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Judge a streamed answer: held back whole, or let through but for its end, as the policy says."""
        del user_api_key_dict
        call = _call_of(request_data)
        if call is None or call.finished:
            async for chunk in response:
                yield chunk
            return
        rule = self.runtime.policy.guardrails.bias_screen_of(call.origin.department)
        guard = StreamGuard(dialect_of(call.endpoint), buffer=rule.stream is Stream.BUFFER)
        self._defer_stream_log(request_data, call, guard)
        try:
            async for chunk in response:
                for piece in await self._fed(request_data, call, guard, chunk):
                    yield piece
            for piece in await self._close(request_data, call, guard):
                yield piece
        except RefusedError:
            raise
        except BaseException:  # the client left, or the model server broke off
            self._broken_off(call, guard)
            raise

    async def _fed(self, data: dict[str, Any], call: Call, guard: StreamGuard, chunk: Any) -> list[Any]:
        """What may go out now that `chunk` has come."""
        if guard.broken:
            return [chunk]
        try:
            return guard.feed(chunk)
        except Exception as error:  # noqa: BLE001 - an own failure must not cut the stream
            self._failed(Stage.STREAM, error, data, call if guard.buffer else None)
            # Of an answer too long to be kept whole, what was kept is judged.
            return await self._close(data, call, guard) if isinstance(error, StreamTooLongError) else guard.give_up()

    async def _close(self, data: dict[str, Any], call: Call, guard: StreamGuard) -> list[Any]:
        """The pieces still held, with notices and findings; HTTP 400 when the answer is blocked."""
        if guard.broken:
            return []
        try:
            verdict = await self._judge(call, guard.texts(), guard.asides())
            if verdict.block is None:
                pieces = guard.finish(call.notices, findings_of(verdict.warn) if verdict.warn else None)
                if guard.noticed:
                    call.delivered = Delivered.PREPENDED if guard.buffer else Delivered.APPENDED
                calls.stamp(data, call)
                return pieces
        except Exception as error:  # noqa: BLE001 - an own failure must not cut the stream
            self._failed(Stage.STREAM, error, data, call if guard.buffer else None)
            return guard.give_up()
        self._refuse_biased(data, call, verdict.block)
        return []

    def _broken_off(self, call: Call, guard: StreamGuard) -> None:
        """A stream without an end: what the client has seen is judged all the same, without the small model."""
        if call.finished or guard.broken or guard.buffer:
            return
        call.finished = True
        texts, asides = guard.texts(), guard.asides()
        judge = partial(self.runtime.judge_rest, call.trace_id, call.origin, texts, asides)
        if sum(map(len, (*texts, *asides))) <= _OFF_LOOP:
            judge()
        else:  # nothing can be awaited here
            asyncio.get_running_loop().run_in_executor(None, judge)

    def _defer_stream_log(self, data: Mapping[str, Any], call: Call, guard: StreamGuard) -> None:
        """Have the log record of a stream written after it is judged, with the text that was delivered."""
        record = data.get("litellm_logging_obj")
        if self._defers and record is not None and getattr(record, "_on_deferred_stream_complete", None) is None:
            record._on_deferred_stream_complete = partial(log_stream, record, call, guard)

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: dict[str, str] | None = None,
        litellm_call_info: dict[str, Any] | None = None,
    ) -> dict[str, str] | None:
        """Codes and totals of the bias screen, the trace id, and for gate keys the HMAC of the masked prompt."""
        del user_api_key_dict, response, request_headers, litellm_call_info
        call = _call_of(data)
        if call is None:
            return None
        headers = {"x-compliance-trace-id": call.trace_id, **call.headers}
        try:
            if call.gate_key and self.runtime.hmac_key is not None:
                headers["x-compliance-prompt-hmac"] = calls.prompt_hmac(data, call, self.runtime.hmac_key)
        except Exception as error:  # noqa: BLE001 - a header is not worth a failed answer
            self.runtime.failed(Stage.HEADERS, error)
        return headers

    def _failed(self, stage: Stage, error: Exception, data: dict[str, Any], call: Call | None) -> None:
        """Count and log an own failure; refuse the call when the policy says so."""
        self.runtime.failed(stage, error)
        rules = self.runtime.policy.guardrails
        if rules.on_error is OnError.REFUSE:
            if call is not None:
                calls.stamp_refusal(data, call)
                call.finished = True
            raise RefusedError(503, rules.messages.guardrail_failed, "guardrail_error") from None


def _remember(data: Mapping[str, Any], call: Call) -> None:
    """Keep the call on the gateway's own record of the request, which lives exactly as long as the request."""
    record = data.get("litellm_logging_obj")
    if record is None:
        raise LookupError("the gateway keeps no record of this request, so its answer could not be judged")
    setattr(record, _ATTRIBUTE, call)


def _call_of(data: Mapping[str, Any]) -> Call | None:
    return getattr(data.get("litellm_logging_obj"), _ATTRIBUTE, None)


def _load() -> RetrievalGroundingHook:
    show_log()
    try:
        runtime = Runtime(os.environ)
    except ValueError as error:  # the policy or the address of Langfuse: one line
        LOG.critical("%s", error)
        if "litellm.proxy.proxy_server" not in sys.modules:
            raise
        # The gateway would bury that line under some four hundred of its own.
        os._exit(2)
    LOG.info(
        "RetrievalGroundingHook loaded version=%s policy=%s langfuse=%s metrics=%s",
        runtime.version,
        runtime.policy.digest,
        "on" if runtime.reporter.active else "off",
        "on" if runtime.metrics.available else "off",
    )
    return RetrievalGroundingHook(runtime)


hook: Final = _load()
