/**
 * The restrictions of a browser: Chromium's sandbox, and, if the server runs as root, a user that owns nothing, so that the
 * sandbox works (operation.md, Start-up).
 */

/** Directories of system programs. Nothing else of the server's environment is passed to the browser. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface Unprivileged {
  uid: number;
  gid: number;
}

/**
 * Taken from the range that no distribution assigns to users or services (60,578–61,183), below the 65,536 that rootless
 * containers map. `nobody` is unsuitable, since unmapped files appear to belong to it.
 */
const BROWSER_USER: Unprivileged = { uid: 60_911, gid: 60_911 };

/** The user to run the browser as; null for the server's own. */
export function unprivilegedUser(): Unprivileged | null {
  return process.getuid?.() === 0 ? BROWSER_USER : null;
}

/** The restrictions that a browser runs with. */
export interface LaunchMode {
  sandbox: boolean;
  /** The user to run as; null for the server's own. */
  user: Unprivileged | null;
}

/** `required` never starts a browser without its sandbox. */
export type SandboxSetting = boolean | 'required';

export interface SandboxedLaunch<Started> {
  started: Started;
  mode: LaunchMode;
  /** Why the browser runs with fewer restrictions than requested; null if it does not. */
  concession: string | null;
}

/** Chromium's message if the kernel supports none of its sandboxes. Any other failure may be temporary. */
const REFUSAL = /No usable sandbox!|SUID sandbox helper binary|Failed to move to new namespace/;

/**
 * Starts a browser with all restrictions that this system supports: an unprivileged user, and the sandbox. Omits the sandbox
 * only if the browser reports twice that none is usable; runs as root only if the operator has disabled the sandbox.
 * @throws SandboxMissing if the sandbox is required but not usable; the second failure if the browser does not start for
 * another reason
 */
export async function launchSandboxed<Started>(
  wish: SandboxSetting,
  start: (mode: LaunchMode) => Promise<Started>,
): Promise<SandboxedLaunch<Started>> {
  const user = unprivilegedUser();
  if (wish === false) return await launchUnsandboxed(start);
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

/** No browser is available. The message, one line, explains the remedy to the operator. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
}

/** The operator requires the sandbox, but this system does not support it. */
export class SandboxMissing extends BrowserError {
  constructor(reason: string) {
    const advice =
      'Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or set STILLFRAME_SANDBOX=true to run without it.';
    super(`STILLFRAME_SANDBOX=required, but this system does not allow Chromium's sandbox. ${advice} (${reason})`);
  }
}

/** Runs without the sandbox, as the operator has configured: as another user if the server is root, or as root if that is impossible. */
async function launchUnsandboxed<Started>(start: (mode: LaunchMode) => Promise<Started>): Promise<SandboxedLaunch<Started>> {
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
    // The first failure may be temporary, such as a full disk or a busy machine.
    return await start(mode);
  }
}
