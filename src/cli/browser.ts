import type { Command } from 'commander';
import { OperatorError, printLine } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';
import { addJsonCommand, print } from './with-store.js';

/** Adds `stillframe browser install | path`. */
export function addBrowserCommand(program: Command): void {
  const browser = program.command('browser').description('install or locate Chromium');
  addInstall(browser);
  addPath(browser);
}

function addInstall(browser: Command): void {
  const install = browser
    .command('install')
    .description('install Chromium by the first method that works on this machine')
    .option('--if-missing', 'do nothing if a browser is found')
    .option('--playwright', "download Playwright's headless shell over HTTPS; it is not pinned by a checksum")
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe browser install');
  addSettings(install, ['dataDir', 'chromium', 'sandbox']).action(
    async (options: { ifMissing?: boolean; playwright?: boolean; json?: boolean }, command: Command) => {
      const config = readSettings(command);
      const { findChromium } = await import('../render/install/find-chromium.js');
      const { installChromium } = await import('../render/install/install-chromium.js');
      const found = options.ifMissing === true ? await findChromium(config) : null;
      const executable =
        found ?? (await installChromium({ ...config, playwright: options.playwright === true, print: printLine }));
      print(options.json, { path: executable.path, kind: executable.kind }, () => executable.path);
    },
  );
}

function addPath(browser: Command): void {
  const description = 'print the path of the Chromium that would be used';
  const path = addJsonCommand(browser, { name: 'path', description, example: 'browser path' });
  addSettings(path, ['dataDir', 'chromium', 'sandbox']).action(
    async (options: { json?: boolean }, command: Command) => {
      const config = readSettings(command);
      const { findChromium } = await import('../render/install/find-chromium.js');
      const found = await findChromium(config);
      if (found === null)
        throw new OperatorError('No Chromium was found. Install one with: stillframe browser install');
      print(options.json, { path: found.path, kind: found.kind, source: found.source }, () => found.path);
    },
  );
}
