import { html } from 'hono/html';
import { ERROR_CODES, type ErrorCode } from '../../contract/capture-error.js';
import { ERROR_REFERENCE } from './error-reference.js';

/** The reference page. Loads nothing from other hosts; its links are relative, so that it works below a path prefix. */
export function docsPage(version: string, baseUrl: string) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>stillframe reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/theme.js"></script>
</head>
<body>
<header><h1>stillframe ${version}</h1><p>URL in, faithful picture or PDF out.</p></header>
<main>
<section id="start"><h2>First capture</h2>
<pre><code>${curlLine(baseUrl)}</code></pre>
<p>The response is 200 with <code>data.cdn_url</code>, or 202 with <code>data.poll_url</code> if the capture takes longer than the server lets a
request wait. The API as an OpenAPI file: <a href="openapi.json">openapi.json</a>.</p></section>
<section id="api"><h2>Endpoints</h2><div id="swagger-ui"><noscript>The endpoints are described in openapi.json.</noscript></div></section>
<section id="errors"><h2>Errors</h2>
<p>Every failure is <code>{"ok": false, "request_id", "error": {"code", "message", "retriable", "request_id", "docs_url", "details"}}</code>.
Base decisions on <code>code</code> and <code>retriable</code>, never on the message. If <code>details.job_id</code> is present, look that job up
before you submit a new capture.</p>
${ERROR_CODES.map(errorSection)}</section>
<section id="private-destinations"><h2>Capturing localhost or an intranet</h2>
<p>Captures reach public addresses only, so that an API key gives no access to the server's own network. Private, loopback, link-local and
other special-purpose addresses are refused, whether given as a name or an address, also in redirects and subresources.</p>
<p>An operator may allow some of them: <code>STILLFRAME_ALLOW_DESTINATIONS</code> (or <code>--allow-destinations</code>) takes a comma-separated list of
addresses, networks, hosts, or hosts with a port:</p>
<pre><code>STILLFRAME_ALLOW_DESTINATIONS=127.0.0.1:8080,10.20.0.0/16,wiki.intranet npx stillframe</code></pre>
<p>Allowed destinations are open only to captures whose own URL is one of them, not to public pages. Cloud metadata addresses stay blocked.</p>
<p>The command <code>stillframe capture http://localhost:8080</code> runs on your own machine, and can reach it without any setting.
Webhook receivers have their own setting, <code>STILLFRAME_WEBHOOK_ALLOW</code>: a comma-separated list of origins such as
<code>http://127.0.0.1:4000</code>.</p></section>
</main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>`;
}

/** The page at `/`. */
export function homePage(version: string, baseUrl: string, { hasConsole }: { hasConsole: boolean }) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>stillframe</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/theme.js"></script>
</head>
<body>
<header><h1>stillframe ${version}</h1><p>URL in, faithful picture or PDF out.</p></header>
<main>
<pre><code>${curlLine(baseUrl)}</code></pre>
<p><a href="docs">Reference</a> · <a href="openapi.json">openapi.json</a> · <a href="v1/health">Health</a>${hasConsole ? html` · <a href="console">Console</a>` : ''}</p>
<p>Create an API key with <code>stillframe keys create --label NAME</code>.</p>
</main>
</body>
</html>`;
}

export const PAGE_CSS = `:root { color-scheme: light; --text: #1b1f24; --page: #fff; --block: #f4f6f8; --link: #0550ae; --mark: #fff8db; }
:root.dark-mode { color-scheme: dark; --text: #e4e6e6; --page: #1c2022; --block: #2a2f33; --link: #7ab7ff; --mark: #3d3a1f; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); overflow-wrap: break-word; }
a { color: var(--link); }
header, main > section, main > p, main > pre { max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem; }
#api { max-width: 90rem; }
h1, h2 { line-height: 1.2; }
h3 code { font-size: 1.1em; }
section > pre, main > pre { padding: 1rem; background: var(--block); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.swagger-ui .info .title small { background: #57606a; }
.swagger-ui .info .title small.version-stamp { background: #2f6f2f; }
.swagger-ui .info .title small pre { color: #fff; }
dt { font-weight: 600; }
dd { margin: 0 0 .5rem; }
:target { background: var(--mark); }
@media (max-width: 40rem) {
  body { overflow-wrap: anywhere; }
  .swagger-ui .wrapper { padding: 0; }
  .swagger-ui .opblock .opblock-summary-control { min-width: 0; flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; }
  .swagger-ui table.parameters, .swagger-ui table.parameters tbody, .swagger-ui table.parameters tr, .swagger-ui table.parameters td { display: block; }
  .swagger-ui table.parameters thead { display: none; }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description select { max-width: 100%; min-width: 0; }
  .swagger-ui .opblock-body select { max-width: 100%; min-width: 0; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; }
}
`;

/** Runs before the first paint. */
export const THEME_JS = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);
`;

export const START_JS = `window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: false,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
});
// The sections below move while the endpoints are rendered: keep the one that the URL names in view until the reader interacts.
const keeping = new ResizeObserver(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
keeping.observe(document.getElementById('swagger-ui'));
for (const deed of ['pointerdown', 'wheel', 'keydown', 'touchstart']) addEventListener(deed, () => keeping.disconnect(), { once: true });
`;

function errorSection(code: ErrorCode) {
  const { statuses, retriable, meaning, advice } = ERROR_REFERENCE[code];
  return html`<article id="${code}"><h3><code>${code}</code></h3>
<dl><dt>Status</dt><dd>${statuses}</dd><dt>Retriable</dt><dd>${retriable}</dd><dt>Meaning</dt><dd>${meaning}</dd><dt>What to do</dt><dd>${advice}</dd></dl></article>
`;
}

function curlLine(baseUrl: string): string {
  return [
    `curl ${baseUrl}/v1/screenshot \\`,
    "  -H 'Authorization: Bearer sf_live_…' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"url": "https://example.com"}'`,
  ].join('\n');
}
