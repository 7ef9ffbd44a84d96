import { expect, it } from 'vitest';
import {
  BrowserError,
  type LaunchMode,
  launchSandboxed,
  type SandboxSetting,
  unprivilegedUser,
} from '../../../src/render/launch/launch-mode.js';

const REFUSAL = 'FATAL:zygote_host_impl_linux.cc:129] No usable sandbox! If this is a Debian system, please install …';
const FULL = "ENOSPC: no space left on device, mkdir '/tmp/profile'";
const user = unprivilegedUser();
const CONFINED = { sandbox: true, user };
const OPEN = { sandbox: false, user };

/** Each attempt meets with the next of these, and comes up when none is left. */
async function launching(wish: SandboxSetting, ...failures: string[]) {
  const tried: LaunchMode[] = [];
  const launch = launchSandboxed(wish, async (mode) => {
    tried.push(mode);
    const failure = failures.shift();
    if (failure !== undefined) throw new Error(failure);
    return 'browser';
  });
  const outcome = await launch.then(
    ({ mode, concession }) => ({ mode, concession }),
    (error: Error) => ({ error }),
  );
  return { outcome, tried };
}

it.each<[string, SandboxSetting, string[], object, LaunchMode[]]>([
  ['runs in its sandbox', true, [], { mode: CONFINED, concession: null }, [CONFINED]],
  ['runs in its sandbox after a failure', true, [FULL], { mode: CONFINED, concession: null }, [CONFINED, CONFINED]],
  ['runs in its sandbox after a refusal', true, [REFUSAL], { mode: CONFINED, concession: null }, [CONFINED, CONFINED]],
  [
    'runs without it if it reports twice that none is usable',
    true,
    [REFUSAL, REFUSAL],
    { mode: OPEN, concession: REFUSAL },
    [CONFINED, CONFINED, OPEN],
  ],
  [
    'does not run if it fails twice for another reason',
    true,
    [FULL, FULL],
    { error: new Error(FULL) },
    [CONFINED, CONFINED],
  ],
  [
    'does not run if it fails for another reason after a refusal',
    true,
    [REFUSAL, FULL],
    { error: new Error(FULL) },
    [CONFINED, CONFINED],
  ],
  [
    'is never started as root, whatever it reports',
    true,
    Array(6).fill(REFUSAL),
    { error: new Error(REFUSAL) },
    [CONFINED, CONFINED, OPEN, OPEN],
  ],
  [
    'does not run without the required sandbox',
    'required',
    [REFUSAL, REFUSAL],
    { error: expect.any(BrowserError) },
    [CONFINED, CONFINED],
  ],
  ['runs without the sandbox that the operator disabled', false, [], { mode: OPEN, concession: null }, [OPEN]],
])('a browser %s', async (_what, wish, failures, outcome, tried) => {
  expect(await launching(wish, ...failures)).toEqual({ outcome, tried });
});

it.runIf(user !== null)('a browser runs as root if it does not start as another user, and reports it', async () => {
  const { outcome } = await launching(false, 'spawn EPERM', 'spawn EPERM');
  expect(outcome).toEqual({ mode: { sandbox: false, user: null }, concession: 'spawn EPERM' });
});
