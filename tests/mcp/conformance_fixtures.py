"""The tools, resources and prompts that the conformance suite expects to find on a server.

Their names, and what they return, are those that the scenarios of the suite describe. Our own tools
have no use for most of it: they return no images and ask no questions.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import mcp_types as t
from attrs import frozen
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Message, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

# Their own annotations are for the SDK, which derives schemas from them.
Ctx = Context[Any, Any]


def add_fixtures(server: MCPServer[Any]) -> None:
    """Register everything that the suite asks for with `server`."""
    for tool in (*_CONTENT, *_CONVERSATION, *_ROUNDS):
        server.add_tool(tool, description=tool.__doc__, structured_output=False)
    for questions in _QUESTIONS:
        server.add_tool(
            questions.tool(), name=questions.name, description="Asks.", structured_output=False
        )
    _add_resources(server)
    for prompt in _PROMPTS:
        server.prompt(description=prompt.__doc__)(prompt)


def _png() -> bytes:
    """Return an image of one red pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    size = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """Return a sound of one silent sample."""
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    chunks = (
        b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 2) + b"\x80\x80"
    )
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


_IMAGE = t.ImageContent(type="image", data=base64.b64encode(_png()).decode(), mime_type="image/png")


def _embed(uri: str, text: str, mime_type: str = "text/plain") -> t.EmbeddedResource:
    content = t.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return t.EmbeddedResource(type="resource", resource=content)


def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


def test_image_content() -> list[t.ImageContent]:
    """Returns an image."""
    return [_IMAGE]


def test_audio_content() -> list[t.AudioContent]:
    """Returns a sound."""
    data = base64.b64encode(_wav()).decode()
    return [t.AudioContent(type="audio", data=data, mime_type="audio/wav")]


def test_embedded_resource() -> list[t.EmbeddedResource]:
    """Returns a resource."""
    return [_embed("test://embedded-resource", "This is an embedded resource content.")]


def test_multiple_content_types() -> list[t.TextContent | t.ImageContent | t.EmbeddedResource]:
    """Returns a text, an image and a resource."""
    return [
        t.TextContent(type="text", text="Multiple content types test:"),
        _IMAGE,
        _embed(
            "test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"
        ),
    ]


def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


_CONTENT: tuple[Callable[..., Any], ...] = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
)


class _Reply(BaseModel):
    response: str


async def test_tool_with_progress(ctx: Ctx) -> str:
    """Reports its progress."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
    return "done"


async def test_tool_with_logging(ctx: Ctx) -> str:
    """Sends messages of a log."""
    for stage in ("started", "processing data", "completed"):
        await ctx.info(f"Tool execution {stage}")
    return "done"


async def test_logging_tool(ctx: Ctx) -> str:
    """Sends a message of a log, for which a client has to ask."""
    await ctx.info("working")
    return "done"


async def test_elicitation(message: str, ctx: Ctx) -> str:
    """Asks the user."""
    return str(await ctx.elicit(message=message, schema=_Reply))


async def test_elicitation_sep1034_defaults(ctx: Ctx) -> str:
    """Asks the user."""
    return str(await ctx.elicit(message="Who are you?", schema=_Reply))


async def test_elicitation_sep1330_enums(ctx: Ctx) -> str:
    """Asks the user."""
    return str(await ctx.elicit(message="Which do you choose?", schema=_Reply))


async def test_sampling(prompt: str, ctx: Ctx) -> str:
    """Asks the model of the client."""
    question = t.TextContent(type="text", text=prompt)
    messages = [t.SamplingMessage(role="user", content=question)]
    return str(await ctx.session.create_message(messages, max_tokens=100))


async def test_missing_capability(ctx: Ctx) -> str:
    """Works only for a client that samples."""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        needed = t.ClientCapabilities(sampling=t.SamplingCapability())
        data = t.MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
        raise MCPError(
            code=t.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="the tool needs sampling",
            data=data.model_dump(by_alias=True, exclude_none=True),
        )
    return "done"


_CONVERSATION: tuple[Callable[..., Any], ...] = (
    test_tool_with_progress,
    test_tool_with_logging,
    test_logging_tool,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_sampling,
    test_missing_capability,
)


def _ask_user(field: str) -> t.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    params = t.ElicitRequestFormParams(message=f"What is your {field}?", requested_schema=schema)
    return t.ElicitRequest(params=params)


def _ask_model() -> t.CreateMessageRequest:
    question = t.TextContent(type="text", text="What is the capital of France?")
    messages = [t.SamplingMessage(role="user", content=question)]
    return t.CreateMessageRequest(
        params=t.CreateMessageRequestParams(messages=messages, max_tokens=100)
    )


@frozen(kw_only=True)
class _Questions:
    """A tool that returns a text once the client has answered all its questions."""

    name: str
    requests: t.InputRequests
    state: str | None = None

    def tool(self) -> Callable[..., Any]:
        """Return the function of the tool."""

        def ask(ctx: Ctx) -> str | t.InputRequiredResult:
            answers = ctx.input_responses or {}
            if self.requests.keys() <= answers.keys() and ctx.request_state == self.state:
                return f"state-ok: {json.dumps([str(answers[key]) for key in self.requests])}"
            return t.InputRequiredResult(input_requests=self.requests, request_state=self.state)

        return ask


_QUESTIONS = (
    _Questions(
        name="test_input_required_result_elicitation", requests={"user_name": _ask_user("name")}
    ),
    _Questions(name="test_streaming_elicitation", requests={"user_name": _ask_user("name")}),
    _Questions(
        name="test_input_required_result_sampling", requests={"capital_question": _ask_model()}
    ),
    _Questions(
        name="test_input_required_result_list_roots",
        requests={"client_roots": t.ListRootsRequest()},
    ),
    _Questions(
        name="test_input_required_result_request_state",
        requests={"confirm": _ask_user("confirmation")},
        state="asked",
    ),
    _Questions(
        name="test_input_required_result_tampered_state",
        requests={"confirm": _ask_user("confirmation")},
        state="asked",
    ),
    _Questions(
        name="test_input_required_result_multiple_inputs",
        requests={
            "user_name": _ask_user("name"),
            "greeting": _ask_model(),
            "client_roots": t.ListRootsRequest(),
        },
        state="asked",
    ),
)


def test_input_required_result_multi_round(ctx: Ctx) -> str | t.InputRequiredResult:
    """Asks twice, the second time after the first answer."""
    if ctx.request_state is None:
        first = {"step1": _ask_user("name")}
        return t.InputRequiredResult(input_requests=first, request_state="round 1")
    if ctx.request_state == "round 1":
        second: t.InputRequests = {"step2": _ask_user("color")}
        return t.InputRequiredResult(input_requests=second, request_state="round 2")
    return "done"


def test_input_required_result_capabilities(ctx: Ctx) -> str | t.InputRequiredResult:
    """Asks whom the client can ask: its model, or its user."""
    capabilities = ctx.client_capabilities or t.ClientCapabilities()
    requests: t.InputRequests = {}
    if capabilities.elicitation is not None:
        requests["user_name"] = _ask_user("name")
    if capabilities.sampling is not None:
        requests["capital_question"] = _ask_model()
    return t.InputRequiredResult(input_requests=requests) if requests else "done"


_ROUNDS: tuple[Callable[..., Any], ...] = (
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
)


def _add_resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text", mime_type="text/plain", description="A text.")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png", description="An image.")
    def static_binary() -> bytes:
        return _png()

    @server.resource("test://watched-resource", mime_type="text/plain", description="A text.")
    def watched_resource() -> str:
        return "Watched resource content"

    @server.resource("test://template/{id}/data", mime_type="application/json", description="Data.")
    def template_data(id: str) -> str:  # noqa: A002 - the name in the address
        return json.dumps({"id": id, "data": f"Data for ID: {id}"})


def test_simple_prompt() -> str:
    """A text."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A text with both arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the suite's
    """A resource, and what to do with it."""
    return [
        UserMessage(_embed(resourceUri, "Embedded resource content for testing.")),
        UserMessage("Please process the embedded resource above."),
    ]


def test_prompt_with_image() -> list[Message]:
    """An image, and what to do with it."""
    return [UserMessage(_IMAGE), UserMessage("Please analyze the image above.")]


def test_input_required_result_prompt(ctx: Ctx) -> str | t.InputRequiredResult:
    """A text, once the client has answered a question."""
    if "user_context" in (ctx.input_responses or {}):
        return "Use what the user has said."
    return t.InputRequiredResult(input_requests={"user_context": _ask_user("context")})


_PROMPTS: tuple[Callable[..., Any], ...] = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
)
