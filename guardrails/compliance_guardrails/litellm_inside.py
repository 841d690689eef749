"""What the hook asks of LiteLLM itself: the small model's reply, and log records written after the judgement.

Only this module and `litellm_hook` import litellm. Its insides are looked up when they are used, so that another
version of it without them costs the deferral and not the gateway.
"""

from __future__ import annotations

import asyncio
from typing import Any

from . import selfeval
from .calls import Call
from .events import Delivered
from .payloads import slots_of
from .streams import GAP, StreamGuard


async def complete(model: str, question: str, answer: str, seconds: float) -> Any:
    """The small model's reply, through the gateway's own router, kept out of the traces."""
    from litellm.proxy.proxy_server import llm_router  # ty: ignore[import-not-found]

    if llm_router is None:
        raise RuntimeError("the gateway has no router")
    asked: Any = selfeval.messages(question, answer)
    reply: Any = await llm_router.acompletion(
        model=model,
        messages=asked,
        max_tokens=selfeval.MAX_TOKENS,
        temperature=0,
        timeout=seconds,
        num_retries=0,
        **{"no-log": True},
    )
    return reply.choices[0].message.content


def deferral_known() -> bool:
    """Whether this LiteLLM writes a log record when asked to, after the hooks: without that nothing is deferred."""
    try:
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER  # ty: ignore[import-not-found]
        from litellm.proxy.common_request_processing import ProxyBaseLLMRequestProcessing  # ty: ignore[import-not-found]
        from litellm.proxy.utils import ProxyLogging  # ty: ignore[import-not-found]
    except ImportError:
        return False
    return (
        hasattr(ProxyBaseLLMRequestProcessing, "_flush_deferred_async_logging")
        and hasattr(ProxyLogging, "fire_deferred_stream_logging")
        and hasattr(GLOBAL_LOGGING_WORKER, "ensure_initialized_and_enqueue")
    )


async def log_stream(record: Any, call: Call, guard: StreamGuard, *stored: Any) -> None:
    """Write the log record of a finished stream: a ready coroutine, or the assembled answer with its cache mark."""
    if len(stored) == 1 and asyncio.iscoroutine(stored[0]):
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER  # ty: ignore[import-not-found]

        GLOBAL_LOGGING_WORKER.ensure_initialized_and_enqueue(async_coroutine=stored[0])
        return
    assembled, cache_hit = stored
    for slot in slots_of(assembled) if call.delivered is not Delivered.UNCHANGED else ():
        notice = call.notices.get(slot.choice)
        if notice and slot.shown:
            slot.replace(notice + GAP + slot.text if guard.buffer else slot.text + GAP + notice)
    await record.dispatch_success_handlers(
        assembled, cache_hit=cache_hit, start_time=None, end_time=None, prefer_async_handlers=True
    )
