import type { Command } from 'commander';
import { issueConsoleLink, LINK_MINUTES, SESSION_HOURS } from '../account/console-access.js';
import type { Config } from '../config.js';
import { localUrl } from '../http/client-address.js';
import { OperatorError, say } from './operator-error.js';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

const ANSWER_MS = 2_000;

interface ConsoleOptions {
  endSessions?: boolean;
  json?: boolean;
}

/** Adds `stillframe console`: a link that opens the console of a running server once. It works on the same data directory or database. */
export function addConsoleCommand(program: Command): void {
  const command = program
    .command('console')
    .description(`print a link that opens the console of a running server; it works once, within ${LINK_MINUTES} minutes`)
    .option('--end-sessions', 'end all sessions and invalidate all links, instead of making a link')
    .option('--json', 'print {url, expires_at}')
    .addHelpText('after', '\nExample:\n  stillframe console');
  addSettings(command, ['host', 'port', 'baseUrl', 'dataDir', 'console']).action((options: ConsoleOptions, own: Command) =>
    withStore(own, async (store, config) => {
      if (options.endSessions) {
        const ended = await store.endConsoleAccess();
        return print(options.json, { ended }, () => `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`);
      }
      if (config.console === 'off') throw new OperatorError('The console is switched off by STILLFRAME_CONSOLE.');
      const { secret, expiresAt } = await issueConsoleLink(store, store.now());
      const url = `${consoleBase(config)}/console/enter?token=${secret}`;
      print(options.json, { url, expires_at: expiresAt }, () => url);
      const server = localUrl(config);
      if (!(await answers(server))) {
        say(`No server answers at ${server}. Start it there, or name its address with --host and --port.`);
      }
      if (!options.json) {
        say(`The link works once, within ${LINK_MINUTES} minutes, and opens the console for ${SESSION_HOURS} hours.`);
      }
    }),
  );
}

async function answers(server: string): Promise<boolean> {
  const answer = await fetch(`${server}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  return answer?.ok === true;
}

/**
 * Returns the address at which this machine's user reaches the console. If it is for loopback only, that is the server itself, whatever its
 * public address is.
 */
function consoleBase({ baseUrl, host, port, console: access }: Config): string {
  if (baseUrl !== null && access === 'on') return baseUrl;
  if (port === 0) throw new OperatorError('The port is not known: give the one that the server has printed, with --port.');
  return localUrl({ host, port });
}
