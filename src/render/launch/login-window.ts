import { type Browser, type BrowserContext, chromium, type Frame } from 'playwright-core';
import { BrowserError } from './browser-error.js';

/** Playwright's storage state file, as the field `storage_state` takes it. */
export interface StorageState {
  cookies: {
    name: string;
    value: string;
    domain: string;
    path: string;
    /** Unix seconds, -1 for a session cookie. */
    expires: number;
    httpOnly: boolean;
    secure: boolean;
    sameSite: 'Strict' | 'Lax' | 'None';
  }[];
  origins: { origin: string; localStorage: { name: string; value: string }[] }[];
}

export interface LoginWindowOptions {
  /** Path of a full Chromium. */
  executable: string;
  url: string;
  sandbox: boolean;
}

/** The state is read this often, since a window that is closed can no longer be asked. */
const READ_EVERY_MS = 500;
const FRAME_ANSWERS_MS = 1_000;

/**
 * A browser window in which a person signs in. It has a temporary profile, and reaches the network directly, as that person's own browser does.
 * It is not for pages of others: nothing of a capture's protection is on.
 */
export class LoginWindow implements AsyncDisposable {
  /** Resolves when the person has closed the window. */
  readonly closed: Promise<void>;
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #origins = new Map<string, { name: string; value: string }[]>();
  readonly #timer: NodeJS.Timeout;
  #cookies: StorageState['cookies'] = [];
  #reading: Promise<void> | null = null;

  private constructor(browser: Browser, context: BrowserContext) {
    this.#browser = browser;
    this.#context = context;
    this.closed = new Promise((resolve) => {
      browser.once('disconnected', () => resolve());
      context.on('page', (page) => page.once('close', () => context.pages().length === 0 && resolve()));
    });
    this.#timer = setInterval(() => void this.#read(), READ_EVERY_MS);
  }

  /** @throws BrowserError if no window can be opened */
  static async open({ executable, url, sandbox }: LoginWindowOptions): Promise<LoginWindow> {
    try {
      const browser = await chromium.launch({
        executablePath: executable,
        headless: false,
        chromiumSandbox: sandbox,
        // Many sites do not let an automated browser sign in.
        ignoreDefaultArgs: ['--enable-automation'],
        args: ['--disable-blink-features=AutomationControlled'],
        ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
      });
      const context = await browser.newContext({ viewport: null });
      const window = new LoginWindow(browser, context);
      const page = await context.newPage();
      // The person sees what is wrong with the address.
      page.goto(url).catch(() => undefined);
      return window;
    } catch (error) {
      const [reason = ''] = (error as Error).message.split('\n');
      throw new BrowserError(`No browser window could be opened with ${executable}: ${reason}`, { cause: error });
    }
  }

  /** The state now, or the last one before the window was closed. */
  async state(): Promise<StorageState> {
    // One that is under way may have begun before the person signed in.
    await this.#reading;
    await this.#read();
    const origins = [...this.#origins].map(([origin, localStorage]) => ({ origin, localStorage }));
    return { cookies: this.#cookies, origins: origins.filter(({ localStorage }) => localStorage.length > 0) };
  }

  /** Closes the window. May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#browser.close();
  }

  /** Reads that overlap share one. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      const cookies = await this.#context.cookies();
      this.#cookies = cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => ({
        ...{ name, value, domain, path, expires, httpOnly, secure, sameSite },
      }));
      const frames = this.#context.pages().flatMap((page) => page.frames());
      for (const found of await Promise.all(frames.map(readLocalStorage))) {
        if (found !== null) this.#origins.set(found.origin, found.localStorage);
      }
    } catch {
      // The window is closed: what was read before remains.
    }
  }
}

/** @returns null for a frame that has none, or does not answer */
async function readLocalStorage(frame: Frame): Promise<StorageState['origins'][number] | null> {
  if (!/^https?:/.test(frame.url())) return null;
  const reading = frame.evaluate(() => ({
    origin: location.origin,
    localStorage: Object.entries(localStorage).map(([name, value]) => ({ name, value: String(value) })),
  }));
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), FRAME_ANSWERS_MS).unref());
  return await Promise.race([reading.catch(() => null), late]);
}
