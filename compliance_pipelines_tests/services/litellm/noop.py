"""A LiteLLM callback that overrides the same methods as the hook and does nothing: what the benchmark compares with."""

# ruff: noqa: ARG002 - the signatures are LiteLLM's
from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from litellm.integrations.custom_logger import CustomLogger


class NoOp(CustomLogger):
    """Every method returns what it was given."""

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: Any) -> Any:
        return data

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncGenerator[Any, None]:
        async for chunk in response:
            yield chunk

    async def async_post_call_response_headers_hook(
        self,
        data: Any,
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        return None


hook = NoOp()
