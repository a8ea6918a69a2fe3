"""The rest of the test profile: the resources and prompts that the conformance suite wants, and the
gateway's endpoint with all of it."""

import json
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from styx_mcp_gateway.protocol import Endpoint
from suite_profile import (
    FRESH,
    PNG,
    PROMPTING,
    Context,
    call_tool,
    embedded,
    image,
    list_tools,
    text_of,
)

TEXT, BINARY, WATCHED = "test://static-text", "test://static-binary", "test://watched-resource"
PROMPTS: Final[dict[str, tuple[str, ...]]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri.removeprefix("test://"), description=uri)
            for uri in (TEXT, BINARY, WATCHED)
        ]
    )


async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(
    _context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = params.uri
    found: types.TextResourceContents | types.BlobResourceContents
    if uri == BINARY:
        found = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri in (TEXT, WATCHED):
        text = "This is the content of the static text resource."
        found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    elif uri.startswith("test://template/"):
        at = uri.split("/")[3]
        data = json.dumps({"id": at, "templateTest": True, "data": f"Data for ID: {at}"})
        found = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[found])


async def list_prompts(_context: Context, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=name,
                arguments=[
                    types.PromptArgument(name=each, description=each, required=True)
                    for each in wanted
                ],
            )
            for name, wanted in PROMPTS.items()
        ]
    )


async def get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = {"arg1": "", "arg2": "", "resourceUri": TEXT, **(params.arguments or {})}
    arguments = "arg1='{arg1}', arg2='{arg2}'".format_map(given)
    made: dict[str, list[types.ContentBlock]] = {
        "test_simple_prompt": [text_of("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [text_of(f"Prompt with arguments: {arguments}")],
        "test_prompt_with_embedded_resource": [
            embedded(
                given.get("resourceUri", TEXT),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            text_of("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), text_of("Please analyze the image above.")],
        "test_input_required_result_prompt": [text_of("in this context")],
    }
    if params.name not in made:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!a}")
    messages = [types.PromptMessage(role="user", content=each) for each in made[params.name]]
    done = types.GetPromptResult(messages=messages)
    if params.name != "test_input_required_result_prompt":
        return done
    asked: types.GetPromptResult | types.InputRequiredResult = PROMPTING.answer(params, done)
    return asked


async def complete(_context: Context, _params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def taken(_context: Context, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


class Profile(Endpoint):
    """The gateway's endpoint with the suite's things in place of its tools."""

    held = (b'"test_tool_with_progress"', b'"test_tool_with_logging"', b'"test_logging_tool"')

    def offered(self) -> Server[Any]:
        """Everything that the suite asks for."""
        cached = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
        return Server(
            "suite",
            version="0.1.0",
            cache_hints=dict.fromkeys((*cached, "resources/read"), FRESH),
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read,
            on_subscribe_resource=taken,
            on_unsubscribe_resource=taken,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=taken,
        )
