"""A server that plays a model: it has an agent's program call one tool, then hears the result.

Both APIs are streams of server-sent events: Anthropic's Messages and OpenAI's Responses. What a
program asks beside its task (a title, a count of tokens) gets a word.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from stack_fixture import until
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Event = dict[str, Any]
USAGE = {"input_tokens": 1, "output_tokens": 1}


@dataclass
class Player:
    """One task: a tool to call, and what came of it."""

    tool: str
    arguments: dict[str, Any]
    url: str = ""
    heard: list[str] = field(default_factory=list)
    """The tool's results, as the model would read them."""

    async def messages(self, request: Request) -> Response:
        """`POST /v1/messages`."""
        body = await request.json()
        blocks = [
            b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]
        ]
        told = [block["content"] for block in blocks if block["type"] == "tool_result"]
        self.heard += map(_text, told)
        names = [tool["name"] for tool in body.get("tools", ()) if tool["name"].endswith(self.tool)]
        if told or not names:
            text = {"type": "text_delta", "text": "done"}
            return _sse(_message({"type": "text", "text": ""}, text, "end_turn"))
        block = {"type": "tool_use", "id": "toolu_1", "name": names[0], "input": {}}
        given = {"type": "input_json_delta", "partial_json": json.dumps(self.arguments)}
        return _sse(_message(block, given, "tool_use"))

    async def responses(self, request: Request) -> Response:
        """`POST /v1/responses`."""
        body = await request.json()
        told = [i["output"] for i in body["input"] if i.get("type") == "function_call_output"]
        self.heard += map(_text, told)
        spaces = [
            space["name"]
            for space in body.get("tools", ())
            if self.tool in {tool["name"] for tool in space.get("tools", ())}
        ]
        if told or not spaces:
            said = {"type": "output_text", "text": "done"}
            item = {"type": "message", "role": "assistant", "id": "msg_1", "content": [said]}
            return _sse(_response(item))
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "namespace": spaces[0]}
        return _sse(_response({**call, "name": self.tool, "arguments": json.dumps(self.arguments)}))

    async def other(self, _request: Request) -> Response:
        """Whatever else a program asks its model's server."""
        return JSONResponse({"input_tokens": 1})


def _text(told: Any) -> str:
    return told if isinstance(told, str) else json.dumps(told)


def _response(item: Event) -> Iterator[Event]:
    made = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": made}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {**USAGE, "total_tokens": 2}
    ended = {**made, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": ended}


def _message(block: Event, delta: Event, why: str) -> Iterator[Event]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "played",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": why, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": USAGE}
    yield {"type": "message_stop"}


def _sse(events: Iterator[Event]) -> Response:
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return Response(text, media_type="text/event-stream")


@asynccontextmanager
async def playing(tool: str, arguments: dict[str, Any]) -> AsyncIterator[Player]:
    """A player on a port of its own."""
    player = Player(tool, arguments)
    app = Starlette(
        routes=[
            Route("/v1/messages", player.messages, methods=["POST"]),
            Route("/v1/responses", player.responses, methods=["POST"]),
            Route("/{rest:path}", player.other, methods=["GET", "POST", "HEAD"]),
        ]
    )
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    player.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield player
    server.should_exit = True
    await serving
