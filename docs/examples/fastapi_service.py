"""A service with a memory for each user: `fastapi run docs/examples/fastapi_service.py`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from infinite_memory import (
    AsyncMemoryStore,
    Conflict,
    InfiniteMemoryError,
    InvalidInput,
    NotFound,
    scope_part,
)

STATUS = {NotFound: 404, Conflict: 409, InvalidInput: 422}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the memory in the home folder with the service, and close it with the service."""
    async with AsyncMemoryStore.open() as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


@app.exception_handler(InfiniteMemoryError)
async def refuse(_: Request, error: InfiniteMemoryError) -> JSONResponse:
    """Answer with the sentence of the error; what no caller can mend is 503."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 503)
    return JSONResponse({"detail": str(error)}, status)


async def find_memory(
    request: Request, x_user: Annotated[str, Header()]
) -> AsyncIterator[AsyncMemoryStore]:
    """Open the memory of a user; take the user from your sign-in, not from what a client says."""
    everything: AsyncMemoryStore = request.app.state.memory
    async with await everything.confine(scopes=f"users/{scope_part(x_user)}") as memory:
        yield memory


Memory = Annotated[AsyncMemoryStore, Depends(find_memory)]


class Note(BaseModel):
    text: str
    tags: list[str] = []
    happened_at: str | None = None


@app.post("/notes", status_code=201)
async def add_note(note: Note, memory: Memory) -> dict[str, Any]:
    receipt = await memory.remember(note.text, tags=note.tags, happened_at=note.happened_at)
    return receipt.to_dict()


@app.get("/notes")
async def find_notes(query: str, memory: Memory, limit: int = 5) -> list[dict[str, Any]]:
    hits = await memory.search(query, limit=limit, cut="asked")
    return [{"text": hit.memory.text, "id": hit.memory.id, "score": hit.score} for hit in hits]


@app.delete("/notes/{note_id}", status_code=204)
async def forget_note(note_id: str, memory: Memory) -> None:
    await memory.forget(note_id)
