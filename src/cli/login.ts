import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { type Config, hasDisplay } from '../config.js';
import { storageStateSchema } from '../contract/login-schema.js';
import { normalizeTargetUrl } from '../contract/read-url.js';
import type { StorageState } from '../render/launch/login-window.js';
import { readTarget } from './capture-target.js';
import { OperatorError, printLine, UsageError } from './operator-error.js';
import { checkWritable, replaceFile } from './picture-file.js';
import { RunSignals } from './run-signals.js';
import { addSettings, readSettings } from './settings-flags.js';
import { print } from './with-store.js';

interface LoginFlags {
  output: string;
  force?: boolean;
  json?: boolean;
}

/** Only its owner may read the file, since anyone who has it is signed in. */
const STATE_MODE = 0o600;

/** Adds `stillframe login <url>`: a window to sign in, whose cookies and local storage are saved for `storage_state`. */
export function addLoginCommand(program: Command): void {
  const login = program
    .command('login')
    .summary('sign in in a window, and save the login for captures')
    .description(
      'Sign in to a site in a browser window, and save its cookies and local storage for the field `storage_state`. Anyone who has the file can use the login, so only you can read it.',
    )
    .argument('<url>', 'page to sign in on')
    .requiredOption('-o, --output <file>', 'file to write, in the format of Playwright')
    .option('--force', 'overwrite an existing file')
    .option('--json', 'print {file, cookies, origins}')
    .addHelpText(
      'after',
      '\nExamples:\n  stillframe login https://example.com/login -o state.json\n  stillframe capture example.com/account --storage-state state.json',
    );
  addSettings(login, ['dataDir', 'chromium', 'sandbox']).action(
    async (text: string, flags: LoginFlags, command: Command) => {
      const config = readSettings(command);
      const url = readUrl(text);
      await checkWritable(flags.output, flags.force === true);
      if (!hasDisplay()) {
        throw new OperatorError(
          'There is no display for a browser window: neither DISPLAY nor WAYLAND_DISPLAY is set. Run this command on a desktop, and copy the file to this machine.',
        );
      }
      const state = await signIn(config, url);
      if (state === null) return;
      await save(flags.output, state);
      const facts = { file: flags.output, cookies: state.cookies.length, origins: state.origins.length };
      print(flags.json, facts, () => flags.output);
      printLine(`${facts.cookies} cookies, local storage of ${facts.origins} origins`);
      warnIfTooLarge(state);
    },
  );
}

function readUrl(text: string): string {
  const target = readTarget(text);
  const checked = target.kind === 'url' ? normalizeTargetUrl(target.url) : { problem: 'must be an http or https URL' };
  if ('problem' in checked) throw new UsageError(`the URL ${checked.problem}`);
  return checked.url;
}

/**
 * Opens the window and waits.
 * @returns null if a signal ended it
 */
async function signIn(config: Config, url: string): Promise<StorageState | null> {
  const executable = await findWindowed(config);
  const { LoginWindow } = await import('../render/launch/login-window.js');
  using signals = new RunSignals();
  await using window = await LoginWindow.open({ executable, url, sandbox: config.sandbox !== false });
  printLine('Sign in in the window. Then press Enter here, or close the window.');
  using enter = onEnter();
  const ended = new Promise<void>((resolve) =>
    signals.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  await Promise.race([window.closed, enter.pressed, ended]);
  if (signals.exitCode === null) return await window.state();
  printLine('Nothing was saved.');
  process.exitCode = signals.exitCode;
  return null;
}

/** Finds a browser with windows, which the headless shell does not have. */
async function findWindowed(config: Config): Promise<string> {
  if (process.getuid?.() === 0 && config.sandbox !== false) {
    throw new OperatorError(
      "A browser window cannot run as root in Chromium's sandbox. Run this command as another user, or add --no-sandbox.",
    );
  }
  const [{ listBrowsers }, { namedBrowser }] = await Promise.all([
    import('../render/install/find-chromium.js'),
    import('../render/install/browser-places.js'),
  ]);
  const named = config.chromium === null ? [] : [namedBrowser(config.chromium, 'STILLFRAME_CHROMIUM')];
  const [found] = [...named, ...(await listBrowsers(config.dataDir))].filter(({ kind }) => kind === 'chromium');
  if (found !== undefined) return found.path;
  throw new OperatorError(
    'No full Chromium was found, and the headless shell has no windows. Install Chromium or Chrome, or name one with --chromium.',
  );
}

/** Listens for Enter. The end of standard input does not count as Enter. */
function onEnter(): Disposable & { pressed: Promise<void> } {
  let resolvePressed = (): void => {};
  const pressed = new Promise<void>((resolve) => {
    resolvePressed = resolve;
  });
  process.stdin.on('data', resolvePressed);
  return {
    pressed,
    [Symbol.dispose]: () => {
      process.stdin.off('data', resolvePressed);
      process.stdin.pause();
      process.stdin.unref?.();
    },
  };
}

async function save(path: string, state: StorageState): Promise<void> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new OperatorError(`${path} cannot be written: it is not an ordinary file`);
  await replaceFile(path, `${JSON.stringify(state, null, 2)}\n`, STATE_MODE);
}

/** Warns if the state exceeds the limits of a capture, as that of some sites does. */
function warnIfTooLarge(state: StorageState): void {
  const checked = storageStateSchema.safeParse(state);
  const [issue] = checked.success ? [] : checked.error.issues;
  if (issue === undefined) return;
  const at = ['storage_state', ...issue.path].map(String).join('.');
  printLine(`Captures will refuse this file: \`${at}\` ${issue.message}. Remove from it what they do not need.`);
}
