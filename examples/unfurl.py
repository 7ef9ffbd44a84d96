"""Shows a page in a Slack channel:  python3 unfurl.py https://example.com   Slack must be able to reach the address of the picture."""
import json, os, sys, urllib.request, uuid

def post(address, body, headers={}):
    request = urllib.request.Request(address, json.dumps(body).encode(), {'Content-Type': 'application/json', **headers})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.status, response.read()

if len(sys.argv) < 2 or not all(os.environ.get(name) for name in ('STILLFRAME_URL', 'STILLFRAME_KEY', 'SLACK_WEBHOOK_URL')):
    sys.exit('Usage: STILLFRAME_URL=… STILLFRAME_KEY=… SLACK_WEBHOOK_URL=… python3 unfurl.py URL')
url, status = sys.argv[1], 202
key = {'Authorization': f"Bearer {os.environ['STILLFRAME_KEY']}", 'Idempotency-Key': str(uuid.uuid4())}
while status == 202:  # the capture goes on: the same key asks for it again
    status, answer = post(f"{os.environ['STILLFRAME_URL']}/v1/screenshot", {'url': url, 'format': 'png', 'cache_ttl': 86400}, key)
picture = json.loads(answer)['data']['cdn_url']
link = {'type': 'section', 'text': {'type': 'mrkdwn', 'text': f'<{url}>'}}
post(os.environ['SLACK_WEBHOOK_URL'], {'text': url, 'blocks': [link, {'type': 'image', 'image_url': picture, 'alt_text': f'Picture of {url}'}]})
