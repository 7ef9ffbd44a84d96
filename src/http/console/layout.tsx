import type { Child } from 'hono/jsx';
import { type Page, SECTIONS, type Section } from './visit.js';

interface LayoutProps {
  page: Page;
  version: string;
  /** The token of the session; null before there is one. */
  formToken: string | null;
}

/** A whole document. Everything that it loads comes from this server, and nothing is inline: see the policy in serve-console.ts. */
export function renderDocument(props: LayoutProps): string {
  return `<!doctype html>\n${String(<Document {...props} />)}`;
}

function Document({ page, version, formToken }: LayoutProps) {
  const { title, section, body } = page;
  const head = (
    <>
      <link rel="icon" href={`icon.svg?${version}`} type="image/svg+xml" />
      <link rel="stylesheet" href={`console.css?${version}`} />
      <script src={`console.js?${version}`} defer />
    </>
  );
  const bar =
    formToken === null ? null : (
      <>
        <Navigation current={section} />
        <PostForm action="sign-out" token={formToken} class="sign-out">
          <button type="submit" class="quiet">
            Sign out
          </button>
        </PostForm>
      </>
    );
  return (
    <Shell title={`${title} · stillframe console`} icon={`icon.svg?${version}`} version={version} head={head} bar={bar}>
      <h1>{title}</h1>
      {body}
    </Shell>
  );
}

interface ShellProps {
  title: string;
  /** Address of the icon. */
  icon: string;
  version: string;
  head: Child;
  /** Beside the name of the program. */
  bar: Child;
  children?: Child;
}

/** The frame that the pages of the console share with those of the documentation. */
export function Shell({ title, icon, version, head, bar, children }: ShellProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        {head}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="bar">
          <p class="brand">
            <img src={icon} alt="" width="22" height="22" />
            <span>
              stillframe <small>{version}</small>
            </span>
          </p>
          {bar}
        </header>
        <main id="main" tabindex={-1}>
          {children}
        </main>
      </body>
    </html>
  );
}

function Navigation({ current }: { current: Section | null }) {
  return (
    <nav aria-label="Console">
      <ul>
        {Object.entries(SECTIONS).map(([path, name]) => (
          <li>
            <a href={path} aria-current={path === current ? 'page' : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** A form that changes something: it contains what proves that it is of this session. */
export function PostForm({ action, token, children, ...rest }: PostFormProps) {
  return (
    <form method="post" action={action} {...rest}>
      <input type="hidden" name="token" value={token} />
      {children}
    </form>
  );
}

interface PostFormProps {
  action: string;
  token: string;
  children?: Child;
  class?: string;
  id?: string;
  'data-busy'?: string;
  /** The options of the last capture may be restored. */
  'data-fresh'?: string | undefined;
  /** The fields that are not kept in the browser. */
  'data-private'?: string;
}
