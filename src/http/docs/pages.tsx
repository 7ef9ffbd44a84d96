/**
 * The documentation that the server shows: the Markdown of docs/, and the reference of the API. Loads nothing from other hosts; its links
 * are relative, so that it works below a path prefix.
 */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { groups } from '../../../docs/contents.json?rendered';
import { ERROR_CODES, type ErrorCode } from '../../contract/capture-error.js';
import { Shell } from '../console/layout.js';
import { ERROR_REFERENCE } from './error-reference.js';
import { searchDocs } from './search.js';

interface Entry {
  /** Its path below /docs/; empty for the page at /docs. */
  name: string;
  title: string;
  /** HTML of a sentence. */
  lead: string;
  /** The sections that a list of contents names. */
  headings: readonly { id: string; html: string }[];
}

/** The pages that are not written in docs/. */
const MADE_HERE: readonly Entry[] = [
  {
    name: 'reference',
    title: 'Endpoints',
    lead: 'Every endpoint with its parameters and answers, to be tried out here.',
    headings: [],
  },
  {
    name: 'errors',
    title: 'Errors',
    lead: 'What each error code means, and what to do about it.',
    headings: ERROR_CODES.map((code) => ({ id: code, html: `<code>${code}</code>` })),
  },
];
const CONTENTS: readonly { title: string; pages: readonly Entry[] }[] = groups.map(({ title, pages }) => ({
  title,
  pages: title === 'Reference' ? [...MADE_HERE, ...pages] : pages,
}));
const ENTRIES = CONTENTS.flatMap(({ pages }) => pages);

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
            It is open to this machine, or to those whom the operator lets in:{' '}
            <a href="docs/production#the-console">how to open it</a>.
          </>
        ),
      };
  return [
    console,
    {
      to: 'docs',
      title: 'Documentation',
      text: 'Start here: all pages about capturing, integrating and operating, with a search.',
    },
    { to: 'docs/api', title: 'The HTTP API', text: 'How requests, answers, errors, credits and signed links work.' },
    {
      to: 'docs/options',
      title: 'Options of a capture',
      text: 'Devices, full pages, PDFs, waiting, blocking, and everything else.',
    },
    {
      to: 'docs/reference',
      title: 'Endpoints',
      text: 'Every endpoint with its parameters and answers, to be tried out here.',
    },
    {
      to: 'docs/mcp',
      title: 'AI assistants',
      text: 'Let an assistant look at web pages with the tools of this server.',
    },
  ];
}

/** The page at `/docs/reference`: the endpoints. */
export function referencePage(place: DocsPlace): string {
  return write(
    place,
    { title: 'Endpoints', current: 'reference', up: '../' },
    <>
      <p>
        The interface of this server at <code>{place.baseUrl}</code>, as its schemas say it. For programs:{' '}
        <a href="../openapi.json">openapi.json</a>.
      </p>
      <section id="api" class="card">
        <div id="swagger-ui">
          <noscript>The endpoints are described in openapi.json.</noscript>
        </div>
      </section>
      <script src="swagger-ui-bundle.js" />
      <script src="start.js" />
    </>,
  );
}

/** The page at `/docs/errors`, with a section for each error code, which `docs_url` of an error leads to. */
export function errorsPage(place: DocsPlace): string {
  return write(
    place,
    { title: 'Errors', current: 'errors', up: '../' },
    <section class="card prose">
      <p>
        Every failure is{' '}
        <code>
          {
            '{"ok": false, "request_id", "error": {"code", "message", "retriable", "request_id", "docs_url", "details"}}'
          }
        </code>
        . Base decisions on <code>code</code> and <code>retriable</code>, never on the message. If{' '}
        <code>details.job_id</code> is present, look that job up before you submit a new capture. A private address is
        refused unless the operator allows it:{' '}
        <a href="security#capture-localhost-or-an-intranet">Capture localhost or an intranet</a>.
      </p>
      {ERROR_CODES.map((code) => (
        <ErrorSection code={code} />
      ))}
    </section>,
  );
}

/** A page of docs/; null if there is none of this name. @param name '' for the page at `/docs`, which leads to all others */
export function docsPage(place: DocsPlace, name: string): string | null {
  const page = groups.flatMap(({ pages }) => pages).find((one) => one.name === name);
  if (page === undefined) return null;
  // Examples can be copied as they are.
  const html = page.html.replaceAll('http://127.0.0.1:3000/v1/', `${place.baseUrl}/v1/`);
  return write(
    place,
    { title: page.title, current: name, up: name === '' ? '' : '../' },
    <>
      <article class="card prose">{raw(html)}</article>
      {name === '' ? CONTENTS.map(Overview) : null}
    </>,
  );
}

/** The pages of a group, as cards. */
function Overview({ title, pages }: (typeof CONTENTS)[number]) {
  return (
    <section>
      <h2>{title}</h2>
      <ul class="cards ways">
        {pages
          .filter(({ name }) => name !== '')
          .map(({ name, title, lead }) => (
            <li class="card">
              <h3>
                <a href={`docs/${name}`}>{title}</a>
              </h3>
              <p>{raw(lead)}</p>
            </li>
          ))}
      </ul>
    </section>
  );
}

/** The rows and sections that contain all words of a query. */
export function searchPage(place: DocsPlace, query: string): string {
  const found = searchDocs(query);
  return write(
    place,
    { title: 'Search', current: null, up: '../', query },
    <>
      <p role="status">
        {found.length === 0
          ? `Nothing was found for “${query}”.`
          : `${found.length === 1 ? '1 place' : `${found.length} places`} for “${query}”`}
      </p>
      {found.length === 0 ? (
        <p>
          Try fewer or shorter words, or begin at the <a href="../docs">start page</a>.
        </p>
      ) : (
        <ol class="found">
          {found.map(({ to, page, section, name, isRow, excerpt }) => (
            <li class="card">
              <h2>
                <a href={`../${to}`}>{isRow ? <code>{name}</code> : name}</a>
              </h2>
              <p class="hint">{[page, section].filter((part) => part !== '' && part !== name).join(' › ')}</p>
              <p>{excerpt.map(({ text, isHit }) => (isHit ? <mark>{text}</mark> : text))}</p>
            </li>
          ))}
        </ol>
      )}
    </>,
  );
}

interface Written {
  title: string;
  /** Name of its entry in the contents. */
  current: string | null;
  /** Leads from the page to the root of the server. */
  up: '' | '../';
  query?: string;
  /** Links to the pages of the documentation are left out. */
  isHome?: true;
}

function write(
  { version, hasConsole }: DocsPlace,
  { title, current, up, query = '', isHome }: Written,
  body: Child,
): string {
  const files = `${up}docs/`;
  const head = (
    <>
      <link rel="icon" href={`${files}icon.svg?${version}`} type="image/svg+xml" />
      {current === 'reference' ? <link rel="stylesheet" href={`${files}swagger-ui.css?${version}`} /> : null}
      <link rel="stylesheet" href={`${files}page.css?${version}`} />
      {current === 'reference' ? <script src={`${files}theme.js?${version}`} /> : null}
      <script src={`${files}docs.js?${version}`} defer />
    </>
  );
  const bar = (
    <>
      <search>
        <form action={`${files}search`}>
          <input
            type="search"
            name="q"
            value={query}
            maxlength={200}
            aria-label="Search the documentation"
            placeholder="Search"
          />
          <button type="submit">Search</button>
        </form>
      </search>
      {isHome ? null : (
        <a class="to-contents" href="#contents">
          All pages
        </a>
      )}
      {hasConsole ? <a href={`${up}console`}>Console</a> : null}
    </>
  );
  const entry = isHome ? undefined : ENTRIES.find(({ name }) => name === current);
  const document = (
    <Shell title={`${title} · stillframe`} icon={`${files}icon.svg?${version}`} version={version} head={head} bar={bar}>
      <div class={isHome ? 'home' : 'docs'}>
        <div class="stack">
          <h1>{title}</h1>
          {entry === undefined || entry.headings.length < 3 ? null : (
            <details class="on-page card">
              <summary>On this page</summary>
              <Headings of={entry} />
            </details>
          )}
          {body}
          {entry === undefined ? null : <Neighbors {...{ entry, up }} />}
        </div>
        {isHome ? null : <Contents up={up} current={current} />}
      </div>
    </Shell>
  );
  return `<!doctype html>\n${String(document)}`;
}

function addressOf({ name }: Entry, up: Written['up']): string {
  return name === '' ? `${up}docs` : `${up}docs/${name}`;
}

/** After the text in the document, so that a phone shows the text first. */
function Contents({ up, current }: Pick<Written, 'up' | 'current'>) {
  return (
    <nav id="contents" aria-label="Documentation">
      {CONTENTS.map(({ title, pages }) => (
        <>
          <h2>{title}</h2>
          <ul>
            {pages.map((entry) => (
              <li>
                <a href={addressOf(entry, up)} aria-current={entry.name === current ? 'page' : undefined}>
                  {entry.title}
                </a>
                {entry.name === current && entry.headings.length > 1 ? <Headings of={entry} /> : null}
              </li>
            ))}
          </ul>
        </>
      ))}
    </nav>
  );
}

function Headings({ of }: { of: Entry }) {
  return (
    <ul>
      {of.headings.map(({ id, html }) => (
        <li>
          <a href={`#${id}`}>{raw(html)}</a>
        </li>
      ))}
    </ul>
  );
}

/** Leads to the pages before and after. */
function Neighbors({ entry, up }: { entry: Entry; up: Written['up'] }) {
  const at = ENTRIES.indexOf(entry);
  const [before, after] = [ENTRIES[at - 1], ENTRIES[at + 1]];
  return (
    <p class="neighbors">
      {before === undefined ? <span /> : <a href={addressOf(before, up)}>← {before.title}</a>}
      {after === undefined ? null : <a href={addressOf(after, up)}>{after.title} →</a>}
    </p>
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
      <h2>
        <code>{code}</code>
      </h2>
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
