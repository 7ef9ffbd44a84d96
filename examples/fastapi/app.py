"""Invoices as PDFs, and pictures of pages that a webhook announces:  pip install ./clients/python fastapi uvicorn  then  uvicorn app:app"""
import os
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request, Response
from stillframe import AsyncStillframe, InvalidSignature, StillframeError, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
stillframe = AsyncStillframe(os.environ["STILLFRAME_URL"], os.environ["STILLFRAME_KEY"])
pictures: dict[str, str] = {}  # a database in your application


@asynccontextmanager
async def lifespan(_: FastAPI):
    async with stillframe:
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/invoices/{number}.pdf")
async def invoice(number: int) -> Response:
    try:
        picture = await stillframe.capture({"html": f"<h1>Invoice {number}</h1>", "format": "pdf"})
        return Response(await stillframe.download(picture), media_type="application/pdf")
    except StillframeError as error:
        raise HTTPException(503 if error.retriable else 500, error.message) from error


@app.post("/webhooks/stillframe", status_code=204)
async def webhook(request: Request) -> None:
    try:
        event = verify_webhook(await request.body(), request.headers, SECRET)
    except InvalidSignature as error:
        raise HTTPException(400, error.message) from error
    if event["event"] == "capture.completed":
        pictures[event["job_id"]] = event["data"]["cdn_url"]
