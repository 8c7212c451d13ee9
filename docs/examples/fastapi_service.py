"""A service with a memory: `fastapi run docs/examples/fastapi_service.py`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel

from infinite_memory import AsyncMemoryStore, InvalidInput, NotFound


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the memory in the home folder with the service, and close it with the service."""
    async with AsyncMemoryStore.open() as memory:
        app.state.memory = memory
        yield


def find_memory(request: Request) -> AsyncMemoryStore:
    memory: AsyncMemoryStore = request.app.state.memory
    return memory


app = FastAPI(lifespan=lifespan)
Memory = Annotated[AsyncMemoryStore, Depends(find_memory)]


class Note(BaseModel):
    text: str
    tags: list[str] = []
    happened_at: str | None = None


@app.post("/notes", status_code=201)
async def add_note(note: Note, memory: Memory) -> dict[str, Any]:
    try:
        receipt = await memory.remember(note.text, tags=note.tags, happened_at=note.happened_at)
    except InvalidInput as error:
        raise HTTPException(422, str(error)) from error
    return receipt.to_dict()


@app.get("/notes")
async def find_notes(query: str, memory: Memory, limit: int = 5) -> list[dict[str, Any]]:
    hits = await memory.search(query, limit=limit, cut="asked")
    return [{"text": hit.memory.text, "id": hit.memory.id, "score": hit.score} for hit in hits]


@app.delete("/notes/{note_id}", status_code=204)
async def forget_note(note_id: str, memory: Memory) -> None:
    try:
        await memory.forget(note_id)
    except NotFound as error:
        raise HTTPException(404, str(error)) from error
