import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { orElse } from '../deadlines.js';
import { playwrightChromium } from './chromium-process.js';
import { BrowserError, firstLine } from './launch-mode.js';

/** Playwright's storage state file, as the field `storage_state` accepts it. */
export type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

interface LoginWindowOptions {
  /** The path of a full Chromium. */
  executable: string;
  url: string;
  sandbox: boolean;
}

/** The state is read at this interval, since a closed window can no longer be read. */
const READ_EVERY_MS = 500;
const PAGE_ANSWERS_MS = 1_000;
/** Matches Chromium's storage key of a top-level page. Keys of frames on other sites also contain the page's site. */
const FIRST_PARTY = /^https?:\/\/[^/^]+\/$/;

/**
 * A browser window for signing in by hand. It has a temporary profile and connects to the network directly, like the
 * person's own browser. It must not be used for untrusted pages, since none of a capture's protections apply.
 */
export class LoginWindow implements AsyncDisposable {
  /** Resolves when the person has closed the window. */
  readonly closed: Promise<void>;
  /** A session with the browser, by page. */
  readonly #sessions = new Map<Page, Promise<CDPSession>>();
  readonly #origins = new Map<string, { name: string; value: string }[]>();
  readonly #timer: NodeJS.Timeout;
  #cookies: StorageState['cookies'] = [];
  #reading: Promise<void> | null = null;

  private constructor(
    private readonly browser: Browser,
    private readonly context: BrowserContext,
  ) {
    this.closed = new Promise((resolve) => {
      browser.once('disconnected', () => resolve());
      context.on('page', (page) => page.once('close', () => context.pages().length === 0 && resolve()));
    });
    this.#timer = setInterval(() => void this.#read(), READ_EVERY_MS);
  }

  /** @throws BrowserError if no window can be opened */
  static async open({ executable, url, sandbox }: LoginWindowOptions): Promise<LoginWindow> {
    try {
      const browser = await playwrightChromium().launch({
        executablePath: executable,
        headless: false,
        chromiumSandbox: sandbox,
        // Many sites do not let an automated browser sign in.
        ignoreDefaultArgs: ['--enable-automation'],
        args: ['--disable-blink-features=AutomationControlled'],
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
      });
      const context = await browser.newContext({ viewport: null });
      const window = new LoginWindow(browser, context);
      const page = await context.newPage();
      // The window itself shows any problem with the URL.
      page.goto(url).catch(() => undefined);
      return window;
    } catch (error) {
      throw new BrowserError(`No browser window could be opened with ${executable}: ${firstLine(error)}`, {
        cause: error,
      });
    }
  }

  /** The current state, or the last one before the window was closed. */
  async state(): Promise<StorageState> {
    // A read in progress may have begun before the person signed in.
    await this.#reading;
    await this.#read();
    const origins = [...this.#origins].map(([origin, localStorage]) => ({ origin, localStorage }));
    return { cookies: this.#cookies, origins: origins.filter(({ localStorage }) => localStorage.length > 0) };
  }

  /** Closes the window. May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.browser.close();
  }

  /** Concurrent reads share one result. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      const cookies = await this.context.cookies();
      this.#cookies = cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => ({
        name,
        value,
        domain,
        path,
        expires,
        httpOnly,
        secure,
        sameSite,
      }));
      const pages = this.context.pages();
      for (const page of this.#sessions.keys()) if (!pages.includes(page)) this.#sessions.delete(page);
      for (const found of await Promise.all(pages.map((page) => this.#readPage(page)))) {
        if (found !== null) this.#origins.set(found.origin, found.localStorage);
      }
    } catch {
      // The window is closed, so the last state remains.
    }
  }

  /**
   * The local storage of the page's origin. Both are read from the browser, since scripts in the page or its frames could
   * report another origin's.
   * @returns null for a page that has none, or does not respond
   */
  async #readPage(page: Page): Promise<StorageState['origins'][number] | null> {
    const session = this.#sessions.get(page) ?? this.context.newCDPSession(page);
    this.#sessions.set(page, session);
    return await orElse(session.then(readLocalStorage), { ms: PAGE_ANSWERS_MS }, null);
  }
}

/** @returns null for a page without an origin of its own */
async function readLocalStorage(session: CDPSession): Promise<StorageState['origins'][number] | null> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const { storageKey } = await session.send('Storage.getStorageKey', { frameId: frameTree.frame.id });
  if (!FIRST_PARTY.test(storageKey)) return null;
  const { entries } = await session.send('DOMStorage.getDOMStorageItems', {
    storageId: { storageKey, isLocalStorage: true },
  });
  return { origin: storageKey.slice(0, -1), localStorage: entries.map(([name = '', value = '']) => ({ name, value })) };
}
