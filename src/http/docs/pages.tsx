/**
 * The documentation that the server shows: the Markdown of docs/, and the reference of the API. Loads nothing from other hosts; its links
 * are relative, so that it works below a path prefix.
 */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { pages } from '../../../docs/contents.json?rendered';
import { ERROR_CODES, type ErrorCode } from '../../contract/capture-error.js';
import { Shell } from '../console/layout.js';
import { ERROR_REFERENCE } from './error-reference.js';
import { searchDocs } from './search.js';

export interface DocsPlace {
  version: string;
  baseUrl: string;
  /** Whether the reader may open the console. */
  hasConsole: boolean;
}

/** The page at `/`. */
export function homePage(place: DocsPlace): string {
  return write(
    place,
    { title: 'Web pages as pictures and PDFs', current: null, up: '', isHome: true },
    <>
      <p class="lead">
        This is a stillframe server: send it a URL or HTML, and it answers with a screenshot or a PDF. It runs at{' '}
        <code>{place.baseUrl}</code>.
      </p>
      <section class="card prose">
        <h2>The first picture</h2>
        <p>On the server, create an API key:</p>
        <pre>
          <code>stillframe keys create --label NAME</code>
        </pre>
        <p>With the key, from anywhere that reaches this server:</p>
        <FirstCapture baseUrl={place.baseUrl} />
        <p>
          The answer has the address of the picture in <code>data.cdn_url</code>.
        </p>
      </section>
      <ul class="cards ways">
        {waysFrom(place).map(({ to, title, text }) => (
          <li class="card">
            <h2>{to === null ? title : <a href={to}>{title}</a>}</h2>
            <p>{text}</p>
          </li>
        ))}
      </ul>
      <p class="hint">
        For programs: <a href="openapi.json">openapi.json</a> · <a href="v1/health">Health</a>
      </p>
    </>,
  );
}

interface Way {
  to: string | null;
  title: string;
  text: Child;
}

function waysFrom({ hasConsole }: DocsPlace): Way[] {
  const console: Way = hasConsole
    ? {
        to: 'console',
        title: 'Console',
        text: 'Take pictures in the browser, see and compare them, and manage keys, accounts and the queue.',
      }
    : {
        to: null,
        title: 'Console',
        text: (
          <>
            It is open to this machine, or to those whom the operator lets in: <a href="docs/production#the-console">how to open it</a>.
          </>
        ),
      };
  return [
    console,
    { to: 'docs/api', title: 'The HTTP API', text: 'How requests, answers, errors, credits and signed links work.' },
    { to: 'docs/options', title: 'Options of a capture', text: 'Devices, full pages, PDFs, waiting, blocking, and everything else.' },
    { to: 'docs', title: 'Reference', text: 'Every endpoint, to be tried out here, and what each error means.' },
    { to: 'docs/library', title: 'Use it from a program', text: 'The typed client for JavaScript, and captures without a server.' },
    { to: 'docs/mcp', title: 'AI assistants', text: 'Let an assistant look at web pages with the tools of this server.' },
  ];
}

/** The page at `/docs`, with a section for each error code. */
export function referencePage(place: DocsPlace): string {
  return write(
    place,
    { title: 'Reference', current: '', up: '' },
    <>
      <section id="start" class="card prose">
        <h2>First capture</h2>
        <FirstCapture baseUrl={place.baseUrl} />
        <p>
          The response is 200 with <code>data.cdn_url</code>, or 202 with <code>data.poll_url</code> if the capture takes longer than the
          server lets a request wait. The API as an OpenAPI file: <a href="openapi.json">openapi.json</a>.
        </p>
      </section>
      <section id="api" class="card">
        <h2>Endpoints</h2>
        <div id="swagger-ui">
          <noscript>The endpoints are described in openapi.json.</noscript>
        </div>
      </section>
      <section id="errors" class="card prose">
        <h2>Errors</h2>
        <p>
          Every failure is{' '}
          <code>{'{"ok": false, "request_id", "error": {"code", "message", "retriable", "request_id", "docs_url", "details"}}'}</code>. Base
          decisions on <code>code</code> and <code>retriable</code>, never on the message. If <code>details.job_id</code> is present, look
          that job up before you submit a new capture.
        </p>
        {ERROR_CODES.map((code) => (
          <ErrorSection code={code} />
        ))}
      </section>
      <PrivateDestinations />
      <script src="docs/swagger-ui-bundle.js" />
      <script src="docs/start.js" />
    </>,
  );
}

/** A page of docs/; null if there is none of this name. */
export function docsPage(place: DocsPlace, name: string): string | null {
  const page = pages.find((one) => one.name === name);
  if (page === undefined) return null;
  return write(place, { title: page.title, current: name, up: '../' }, <article class="card prose">{raw(page.html)}</article>);
}

/** The sections that contain all words of a query. */
export function searchPage(place: DocsPlace, query: string): string {
  const found = searchDocs(query);
  return write(
    place,
    { title: 'Search', current: null, up: '../', query },
    <section class="card prose">
      <p>{found.length === 0 ? 'Nothing was found.' : `Sections found: ${found.length}`}</p>
      {found.map(({ to, page, heading, excerpt }) => (
        <>
          <h2>
            <a href={`../${to}`}>{heading === page ? page : `${page}: ${heading}`}</a>
          </h2>
          <p>{excerpt}</p>
        </>
      ))}
    </section>,
  );
}

interface Written {
  title: string;
  /** Name of the page; '' for the reference. */
  current: string | null;
  /** Leads from the page to the root of the server. */
  up: '' | '../';
  query?: string;
  /** Links to the pages of the documentation are left out. */
  isHome?: true;
}

function write({ version, hasConsole }: DocsPlace, { title, current, up, query = '', isHome }: Written, body: Child): string {
  const files = `${up}docs/`;
  const head = (
    <>
      <link rel="icon" href={`${files}icon.svg?${version}`} type="image/svg+xml" />
      {current === '' ? <link rel="stylesheet" href={`${files}swagger-ui.css?${version}`} /> : null}
      <link rel="stylesheet" href={`${files}page.css?${version}`} />
      {current === '' ? <script src={`${files}theme.js?${version}`} /> : null}
    </>
  );
  const bar = (
    <>
      <search>
        <form action={`${files}search`}>
          <input type="search" name="q" value={query} maxlength={200} aria-label="Search the documentation" placeholder="Search" />
          <button type="submit">Search</button>
        </form>
      </search>
      {hasConsole ? <a href={`${up}console`}>Console</a> : null}
    </>
  );
  const document = (
    <Shell title={`${title} · stillframe`} icon={`${files}icon.svg?${version}`} version={version} head={head} bar={bar}>
      <div class={isHome ? 'home' : 'docs'}>
        {isHome ? null : <Contents up={up} current={current} />}
        <div class="stack">
          <h1>{title}</h1>
          {body}
        </div>
      </div>
    </Shell>
  );
  return `<!doctype html>\n${String(document)}`;
}

function Contents({ up, current }: Pick<Written, 'up' | 'current'>) {
  const entries = [{ name: '', title: 'Reference' }, ...pages];
  return (
    <nav aria-label="Documentation">
      <ul>
        {entries.map((entry) => (
          <li>
            <a
              href={entry.name === '' ? `${up}docs` : `${up}docs/${entry.name}`}
              aria-current={entry.name === current ? 'page' : undefined}
            >
              {entry.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function FirstCapture({ baseUrl }: { baseUrl: string }) {
  const lines = [
    `curl ${baseUrl}/v1/screenshot \\`,
    "  -H 'Authorization: Bearer sf_live_…' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"url": "https://example.com"}'`,
  ];
  return (
    <pre>
      <code>{lines.join('\n')}</code>
    </pre>
  );
}

function ErrorSection({ code }: { code: ErrorCode }) {
  const { statuses, retriable, meaning, advice } = ERROR_REFERENCE[code];
  return (
    <article id={code}>
      <h3>
        <code>{code}</code>
      </h3>
      <dl>
        <dt>Status</dt>
        <dd>{statuses}</dd>
        <dt>Retriable</dt>
        <dd>{retriable}</dd>
        <dt>Meaning</dt>
        <dd>{meaning}</dd>
        <dt>What to do</dt>
        <dd>{advice}</dd>
      </dl>
    </article>
  );
}

function PrivateDestinations() {
  return (
    <section id="private-destinations" class="card prose">
      <h2>Capturing localhost or an intranet</h2>
      <p>
        Captures reach public addresses only, so that an API key gives no access to the server's own network. Private, loopback, link-local
        and other special-purpose addresses are refused, whether given as a name or an address, also in redirects and subresources.
      </p>
      <p>
        An operator may allow some of them: <code>STILLFRAME_ALLOW_DESTINATIONS</code> (or <code>--allow-destinations</code>) takes a
        comma-separated list of addresses, networks, hosts, or hosts with a port:
      </p>
      <pre>
        <code>STILLFRAME_ALLOW_DESTINATIONS=127.0.0.1:8080,10.20.0.0/16,wiki.intranet npx stillframe</code>
      </pre>
      <p>
        Allowed destinations are open only to captures whose own URL is one of them, not to public pages. Cloud metadata addresses stay
        blocked.
      </p>
      <p>
        The command <code>stillframe capture http://localhost:8080</code> runs on your own machine, and can reach it without any setting.
        Receivers of webhooks and uploads have their own setting, <code>STILLFRAME_WEBHOOK_ALLOW</code>: a comma-separated list of origins
        such as <code>http://127.0.0.1:4000</code>.
      </p>
    </section>
  );
}
