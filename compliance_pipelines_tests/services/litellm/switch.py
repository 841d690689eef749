"""The hook and a callback that does nothing, side by side in one proxy: keys `sk-test-noop-…` get the latter.

For the benchmark: both arms run in the same process, so that only the hook's own work tells them apart.
"""

# ruff: noqa: ARG002 - the signatures are LiteLLM's

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from compliance_guardrails.litellm_hook import hook as real
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

    async def async_post_call_response_headers_hook(self, **_: Any) -> dict[str, str] | None:
        return None


nothing = NoOp()


def chosen(user_api_key_dict: Any) -> Any:
    """The callback of a key."""
    return nothing if str(user_api_key_dict.key_alias).startswith("noop-") else real


class Switch(CustomLogger):
    """Each method hands over to the chosen callback."""

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: Any) -> Any:
        return await chosen(user_api_key_dict).async_pre_call_hook(user_api_key_dict, cache, data, call_type)

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        return await chosen(user_api_key_dict).async_post_call_success_hook(data, user_api_key_dict, response)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncGenerator[Any, None]:
        stream = chosen(user_api_key_dict).async_post_call_streaming_iterator_hook(
            user_api_key_dict, response, request_data
        )
        async for chunk in stream:
            yield chunk

    async def async_post_call_response_headers_hook(
        self,
        data: Any,
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        return await chosen(user_api_key_dict).async_post_call_response_headers_hook(
            data=data, user_api_key_dict=user_api_key_dict, response=response
        )


hook = Switch()
