"""Reports that are captured in the background, and a card for links:  pip install ./clients/python django  then  python app.py runserver"""
import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from stillframe import InvalidSignature, Stillframe, StillframeError, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
SITE = os.environ["SITE_URL"]  # the public address of this application
stillframe = Stillframe(os.environ["STILLFRAME_URL"], os.environ["STILLFRAME_KEY"])
pictures: dict[str, str] = {}  # a model in your application


@require_POST
def report(request, name):
    webhook = {"url": f"{SITE}/webhooks/stillframe", "secret": SECRET}
    try:
        job = stillframe.submit({"url": f"{SITE}/reports/{name}", "format": "pdf", "webhook": webhook})
        return JsonResponse(job, status=202)
    except StillframeError as error:
        return JsonResponse({"error": error.message}, status=503 if error.retriable else 500)


@csrf_exempt  # the signature takes the place of the token
@require_POST
def webhook(request):
    try:
        event = verify_webhook(request.body, request.headers, SECRET)
    except InvalidSignature as error:
        return HttpResponseBadRequest(error.message)
    if event["event"] == "capture.completed":
        pictures[event["job_id"]] = event["data"]["cdn_url"]
    return HttpResponse(status=204)


def page(request, name):
    card = stillframe.sign_link(
        {"url": f"{SITE}/reports/{name}", "viewport": {"width": 1200, "height": 630}},
        key_id=os.environ["STILLFRAME_KEY_ID"],
        signing_secret=os.environ["STILLFRAME_SIGNING_SECRET"],
        expires_in=30 * 86_400,
    )
    return HttpResponse(f'<meta property="og:image" content="{card.replace("&", "&amp;")}"><h1>Report</h1>')


urlpatterns = [
    path("reports/<slug:name>", page),
    path("reports/<slug:name>/capture", report),
    path("webhooks/stillframe", webhook),
]
settings.configure(DEBUG=False, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY=os.environ["DJANGO_SECRET_KEY"])

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
