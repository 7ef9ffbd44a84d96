import { describe, expect, it } from 'vitest';
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

describe('a browser with the sandbox enabled', () => {
  it('runs in its sandbox', async () => {
    expect(await launching(true)).toEqual({ outcome: { mode: CONFINED, concession: null }, tried: [CONFINED] });
  });

  it.each([FULL, REFUSAL])('runs in its sandbox after one failure (%s)', async (failure) => {
    expect(await launching(true, failure)).toEqual({ outcome: { mode: CONFINED, concession: null }, tried: [CONFINED, CONFINED] });
  });

  it('runs without the sandbox if it reports twice that none is usable', async () => {
    const { outcome, tried } = await launching(true, REFUSAL, REFUSAL);
    expect(outcome).toEqual({ mode: OPEN, concession: REFUSAL });
    expect(tried).toEqual([CONFINED, CONFINED, OPEN]);
  });

  it.each([
    ['twice', [FULL, FULL]],
    ['after a refusal', [REFUSAL, FULL]],
  ])('does not run at all if it fails for another reason %s', async (_, failures) => {
    const { outcome, tried } = await launching(true, ...failures);
    expect(outcome).toEqual({ error: new Error(FULL) });
    expect(tried).toEqual([CONFINED, CONFINED]);
  });

  it('is never started as root, whatever it reports', async () => {
    const { tried } = await launching(true, REFUSAL, REFUSAL, REFUSAL, REFUSAL, REFUSAL);
    expect(tried).toEqual([CONFINED, CONFINED, OPEN, OPEN]);
  });

  it('does not run without the sandbox if it is required', async () => {
    const { outcome, tried } = await launching('required', REFUSAL, REFUSAL);
    expect(outcome).toEqual({ error: expect.any(BrowserError) });
    expect(tried).toEqual([CONFINED, CONFINED]);
  });
});

describe('a browser with the sandbox disabled by the operator', () => {
  it('runs without the sandbox', async () => {
    expect(await launching(false)).toEqual({ outcome: { mode: OPEN, concession: null }, tried: [OPEN] });
  });

  it.runIf(user !== null)('runs as root if it does not start as another user, and reports it', async () => {
    const { outcome } = await launching(false, 'spawn EPERM', 'spawn EPERM');
    expect(outcome).toEqual({ mode: { sandbox: false, user: null }, concession: 'spawn EPERM' });
  });
});
