import type { LaunchOptions } from './chromium-process.js';
import { unprivilegedUser } from './unprivileged.js';

/** How confined a browser runs. */
export type LaunchMode = Pick<LaunchOptions, 'sandbox' | 'user'>;

export interface ConfinedLaunch<Started> {
  started: Started;
  mode: LaunchMode;
  /** Why the browser runs less confined than was asked for; null when it does not. */
  concession: string | null;
}

/**
 * Starts a browser as confined as this system lets it: as nobody in particular and in its sandbox, then without the one, then without the other.
 * @param wanted false: the operator has switched the sandbox off
 * @throws the first failure when no mode works
 */
export async function launchConfined<Started>(
  wanted: boolean,
  start: (mode: LaunchMode) => Promise<Started>,
): Promise<ConfinedLaunch<Started>> {
  let refusal: Error | undefined;
  for (const mode of launchModes(wanted)) {
    try {
      return { started: await start(mode), mode, concession: refusal === undefined ? null : refusal.message };
    } catch (error) {
      refusal ??= error as Error;
    }
  }
  throw refusal ?? new Error('no way to start a browser');
}

function launchModes(wanted: boolean): LaunchMode[] {
  const user = unprivilegedUser();
  return [
    ...(wanted ? [{ sandbox: true, user }] : []),
    { sandbox: false, user },
    ...(user === null ? [] : [{ sandbox: false, user: null }]),
  ];
}
