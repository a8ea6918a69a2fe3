"""What the conformance suite wants a server to offer, behind the gateway's own protocol layer.

A test profile: Styx offers its tools and nothing else. Names and texts are fixed by the suite.
"""

import asyncio
import base64
import hashlib
import hmac
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any]
Answer = types.CallToolResult | types.InputRequiredResult
FRESH: Final = CacheHint(60_000, "private")
KEY: Final = b"FIXTURE-state"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG: Final = _encoded(
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
WAV: Final = _encoded(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
    b"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
)


def said(text: str, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[text_of(text)], is_error=error)


def text_of(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, kind: str, text: str) -> types.EmbeddedResource:
    inner = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    return types.EmbeddedResource(type="resource", resource=inner)


AT_ONCE: Final[dict[str, list[types.ContentBlock]]] = {
    "test_simple_text": [text_of("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text_of("Multiple content types test:"),
        image(),
        embedded(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    ],
}


async def failing(_context: Context) -> Answer:
    return said("This tool intentionally returns an error for testing", error=True)


async def progressing(context: Context) -> Answer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(0.05)  # the suite asks for these pauses
    return said("done")


async def logging(context: Context) -> Answer:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", line, related_request_id=context.request_id)
        await asyncio.sleep(0.05)  # the suite asks for these pauses
    return said("done")


async def sampling_only(context: Context) -> Answer:
    able = context.session.client_capabilities
    if able is not None and able.sampling is not None:
        return said("done")
    lacking = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "needs sampling", lacking)


RUNNING: Final[dict[str, Callable[[Context], Awaitable[Answer]]]] = {
    "test_error_handling": failing,
    "test_tool_with_progress": progressing,
    "test_tool_with_logging": logging,
    "test_logging_tool": logging,
    "test_missing_capability": sampling_only,
    "test_streaming_elicitation": failing,
}


def form(message: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


def sampling(text: str, most: int) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    params = {"messages": [message], "maxTokens": most}
    return {"method": "sampling/createMessage", "params": params}


ROOTS: Final = {"method": "roots/list", "params": {}}
NAME: Final = form("What is your name?", name={"type": "string"})
OK: Final = form("Please confirm", ok={"type": "boolean"})


@dataclass(frozen=True)
class Rounds:
    """What a call asks its client for, round after round; `state` says whether it keeps count."""

    asked: tuple[dict[str, Any], ...]
    state: bool = False

    def answer(self, params: types.InputResponseRequestParams, done: Any) -> Any:
        """The next round's questions, or `done`."""
        at = unsealed(params.request_state) if self.state and params.request_state else 0
        if set(self.asked[at]) <= set(params.input_responses or {}):
            at += 1
        if at == len(self.asked):
            return done
        state = sealed(at) if self.state else None
        return types.InputRequiredResult.model_validate(
            {"inputRequests": self.asked[at], "requestState": state}
        )


def sealed(at: int) -> str:
    return f"{at}.{hmac.new(KEY, str(at).encode(), hashlib.sha256).hexdigest()}"


def unsealed(state: str) -> int:
    at = state.partition(".")[0]
    if not at.isdigit() or not hmac.compare_digest(sealed(int(at)), state):
        raise MCPError(types.INVALID_PARAMS, "this state is not of this server")
    return int(at)


ASKING: Final = {
    "test_input_required_result_elicitation": Rounds(({"user_name": NAME},)),
    "test_input_required_result_sampling": Rounds(
        ({"capital_question": sampling("What is the capital of France?", 100)},)
    ),
    "test_input_required_result_list_roots": Rounds(({"client_roots": ROOTS},)),
    "test_input_required_result_request_state": Rounds(({"confirm": OK},), state=True),
    "test_input_required_result_tampered_state": Rounds(({"confirm": OK},), state=True),
    "test_input_required_result_multiple_inputs": Rounds(
        (
            {
                "user_name": NAME,
                "greeting": sampling("Generate a greeting", 50),
                "client_roots": ROOTS,
            },
        ),
        state=True,
    ),
    "test_input_required_result_multi_round": Rounds(
        (
            {"step1": form("Step 1: What is your name?", name={"type": "string"})},
            {"step2": form("Step 2: What is your favorite color?", color={"type": "string"})},
        ),
        state=True,
    ),
    "test_input_required_result_capabilities": Rounds(({"words": sampling("Say a word", 50)},)),
}
PROMPTING: Final = Rounds(
    ({"user_context": form("What context should the prompt use?", context={"type": "string"})},)
)


async def list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
    names = (*AT_ONCE, *RUNNING, *ASKING)
    schema = {"type": "object"}
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=name, input_schema=schema) for name in names]
    )


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Answer:
    if params.name in AT_ONCE:
        return types.CallToolResult(content=AT_ONCE[params.name])
    if params.name in RUNNING:
        return await RUNNING[params.name](context)
    if params.name in ASKING:
        done = said(f"state-ok {params.input_responses}")
        answer: Answer = ASKING[params.name].answer(params, done)
        return answer
    raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!a}")
