import { BrowserError } from './browser-error.js';
import type { LaunchOptions } from './chromium-process.js';
import { unprivilegedUser } from './unprivileged.js';

/** How confined a browser runs. */
export type LaunchMode = Pick<LaunchOptions, 'sandbox' | 'user'>;

/** `required`: rather no browser than one without its sandbox. */
export type SandboxWish = boolean | 'required';

export interface ConfinedLaunch<Started> {
  started: Started;
  mode: LaunchMode;
  /** Why the browser runs less confined than was asked for; null when it does not. */
  concession: string | null;
}

/** What Chromium ends with where the kernel gives it none of its sandboxes. Any other failure may be temporary. */
const REFUSAL = /No usable sandbox!|SUID sandbox helper binary|Failed to move to new namespace/;

/**
 * Starts a browser as confined as this system lets it: as nobody in particular and in its sandbox. Without the sandbox only where the browser
 * itself says, twice, that there is none; as root only where the operator has switched the sandbox off.
 * @throws SandboxMissing when the sandbox is required and refused; the second failure when the browser does not start for another reason
 */
export async function launchConfined<Started>(
  wish: SandboxWish,
  start: (mode: LaunchMode) => Promise<Started>,
): Promise<ConfinedLaunch<Started>> {
  const user = unprivilegedUser();
  if (wish === false) return await launchOpen(start);
  try {
    const mode = { sandbox: true, user };
    return { started: await twice(mode, start), mode, concession: null };
  } catch (error) {
    const { message } = error as Error;
    if (!REFUSAL.test(message)) throw error;
    if (wish === 'required') throw new SandboxMissing(message);
    const mode = { sandbox: false, user };
    return { started: await twice(mode, start), mode, concession: message };
  }
}

/** This system refuses a sandbox that the operator requires. */
export class SandboxMissing extends BrowserError {
  constructor(reason: string) {
    const advice =
      'Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or set STILLFRAME_SANDBOX=true to run without it.';
    super(`STILLFRAME_SANDBOX=required, but this system does not allow Chromium's sandbox. ${advice} (${reason})`);
  }
}

/** The operator has said so: as somebody else when the server is root, and as root where that cannot be. */
async function launchOpen<Started>(start: (mode: LaunchMode) => Promise<Started>): Promise<ConfinedLaunch<Started>> {
  const user = unprivilegedUser();
  const mode = { sandbox: false, user };
  try {
    return { started: await twice(mode, start), mode, concession: null };
  } catch (error) {
    if (user === null) throw error;
    const asRoot = { sandbox: false, user: null };
    return { started: await start(asRoot), mode: asRoot, concession: (error as Error).message };
  }
}

async function twice<Started>(mode: LaunchMode, start: (mode: LaunchMode) => Promise<Started>): Promise<Started> {
  try {
    return await start(mode);
  } catch {
    // A full disk or a busy machine: the second failure is the one that counts.
    return await start(mode);
  }
}
