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

/** Chromium's message if the kernel supports none of its sandboxes. Any other failure may be temporary. */
const REFUSAL = /No usable sandbox!|SUID sandbox helper binary|Failed to move to new namespace/;

/**
 * Starts a browser with all restrictions that this system supports: an unprivileged user, and the sandbox. Omits the sandbox
 * only if the browser reports twice that none is usable; runs as root only if the operator has disabled the sandbox, and it
 * cannot run as another user.
 * @returns `concession`: why the browser runs with fewer restrictions than requested; null if it does not
 * @throws SandboxMissing if the sandbox is required but not usable; the second failure if the browser does not start for
 * another reason
 */
export async function launchSandboxed<Started>(
  requested: SandboxSetting,
  start: (mode: LaunchMode) => Promise<Started>,
) {
  const user = unprivilegedUser();
  const wanted = { sandbox: requested !== false, user };
  try {
    return { started: await twice(wanted, start), mode: wanted, concession: null };
  } catch (error) {
    const { message } = error as Error;
    if (requested === false ? user === null : !REFUSAL.test(message)) throw error;
    if (requested === 'required') throw new SandboxMissing(message);
    const mode = { sandbox: false, user: requested === false ? null : user };
    return { started: await (requested === false ? start(mode) : twice(mode, start)), mode, concession: message };
  }
}

/** The first line of an error's message. */
export function firstLine(error: unknown): string {
  return (error as Error).message.split('\n', 1)[0] ?? '';
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

async function twice<Started>(mode: LaunchMode, start: (mode: LaunchMode) => Promise<Started>): Promise<Started> {
  try {
    return await start(mode);
  } catch {
    // The first failure may be temporary, such as a full disk or a busy machine.
    return await start(mode);
  }
}
