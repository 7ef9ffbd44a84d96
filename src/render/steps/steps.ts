/**
 * The steps of a capture, which Playwright's engine carries out on the page's clock: what a step waits for comes as soon as
 * the page's time has got there. Everything is limited by the capture's budget.
 */

import type { Locator } from 'playwright-core';
import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureOptions, shownAddress } from '../../contract/capture-request.js';
import { OPTIONAL_STEP_MS, URL_MAX_BYTES } from '../../contract/limits.js';
import type { Step, StepAction } from '../../contract/step-schema.js';
import { matchesPattern } from '../../contract/url-pattern.js';
import { sharp } from '../../sharp.js';
import { monotonicNow, TIMED_OUT } from '../deadlines.js';
import { isTrue, runCustomJs } from '../page/main-world.js';
import { navigate, waitUntilLoaded } from '../page/navigate.js';
import type { OpenPage } from '../page/open-page.js';
import { advanceTime, stopPage, stopScripts } from '../page/page-clock.js';
import { isGone, unlessGone } from '../page-session.js';
import { isMasked, paintMask } from '../picture/mask.js';
import { captureShot, FAST } from '../picture/region-picture.js';
import { refOf, resolveRef } from './element-ref.js';

interface StepsContext {
  options: CaptureOptions;
  /** Lets a page that has just loaded settle, and removes its banners. */
  settle(): Promise<void>;
  /** Removes banners that may cover what a step needs. */
  clearBanners(): Promise<void>;
}

/** The page's time between two checks of what a step waits for, in ms; the longer one after LONG_WAIT_MS. */
const CHECK_EVERY_MS = 100;
const CHECK_LATE_EVERY_MS = 500;
const LONG_WAIT_MS = 3_000;
/** A wait is not given up before this much real time, for what the page's clock does not cover. */
const REAL_MIN_MS = 1_000;
/** Most actions end within this time, for which the page's clock is left alone. */
const AT_ONCE_MS = 150;
/** Real time until the next look at what an action or a promise has come to, in ms. */
const LOOK_MS = 30;
/** The last characters of a text that are typed key by key. */
const KEYS_MAX = 50;
const KEYED =
  'textarea, [contenteditable], input:not([type]), input:is([type="" i], [type=email i], [type=password i], [type=search i], [type=tel i], [type=text i], [type=url i])';
const BANNERS_AFTER_MS = 500;
const FRAME_MAX_MS = 100;
/** The real time until the request of a navigation that the page has asked for, in ms. */
const REQUESTED_MAX_MS = 500;
/** The page's time after requests that a step has caused, in ms. */
const AFTER_REQUESTS_MS = 300;
/** The real time that requests may hold the clock at each check, in ms. */
const HOLD_MAX_MS = 1_000;
const SHOWN_MAX_CHARS = 200;
const URL_SHOWN_CHARS = 500;

/** The reasons why a step has failed, by words in Playwright's log of the action. */
const REASONS: [RegExp, reason: string, message: string][] = [
  [/intercepts pointer events/, 'covered', 'another element covers it'],
  [/element is not enabled/, 'disabled', 'it is disabled'],
  [/element is not stable/, 'moving', 'it does not stop moving'],
  [/element is not editable/, 'not_editable', 'it cannot be edited'],
  [/outside of the viewport/, 'out_of_view', 'it cannot be scrolled into view'],
  [/did not find some options/, 'no_option', 'it has no such option'],
  [
    /not an? <(input|select)>|not a checkbox|Malformed value|cannot be filled/i,
    'wrong_element',
    'the element is of another kind',
  ],
];

/** A step cannot be carried out: a sentence about it, and a word for programs. */
class StepProblem extends Error {
  constructor(
    readonly reason: string,
    message: string,
    readonly code: 'render_timeout' | 'invalid_request' | 'render_incomplete' = 'render_timeout',
  ) {
    super(message);
  }
}

/**
 * Carries out the steps one by one. Each waits for the navigation and the requests that it has caused.
 * @throws CaptureError of the step that failed, with its index, its action, and a picture of the page
 */
export async function runSteps(page: OpenPage, context: StepsContext): Promise<void> {
  const { deadlines, debug } = page;
  const typed: string[] = [];
  await page.session.allowEvaluation();
  await context.settle();
  for (const [index, step] of context.options.steps.entries()) {
    const began = monotonicNow();
    try {
      const before = page.main.current;
      if (step.secret !== undefined) typed.push(step.secret);
      await runStep(page, { step, path: `steps.${index}`, context });
      await followEffects(page, { before, context });
      debug?.note({ step: 'step', index, action: step.action, tookMs: monotonicNow() - began });
    } catch (error) {
      deadlines.signal.throwIfAborted();
      const problem = problemOf(error, step);
      if (problem === null) throw error;
      debug?.note({ step: 'step', index, action: step.action, failed: problem.message });
      if (!step.optional) throw await failed(page, { index, step, problem, typed, options: context.options });
    }
  }
}

/**
 * Waits until the JavaScript expression of `wait_for_function` is true.
 * @throws CaptureError render_timeout, invalid_request if it is no expression or throws
 */
export async function waitForFunction(page: OpenPage, expression: string): Promise<void> {
  const { deadlines } = page;
  if (await untilTrue(page, { ms: deadlines.leftMs(), test: () => isTrue(page, expression, 'wait_for_function') }))
    return;
  throw new CaptureError({
    code: 'render_timeout',
    message: `\`wait_for_function\` did not become true within \`timeout\` (${deadlines.timeout} ms).`,
    details: { waited_for: 'function' },
  });
}

interface Running {
  step: Step;
  /** The field of the request, for messages. */
  path: string;
  context: StepsContext;
}

async function runStep(page: OpenPage, running: Running): Promise<void> {
  const { step, path } = running;
  switch (step.action) {
    case 'go_to':
      return await navigate(page, step.url ?? '');
    case 'evaluate':
      await actWhileTimePasses(page, running, () => runCustomJs(page, step.script ?? '', `${path}.script`));
      return;
    case 'wait_for':
      return await waitFor(page, running);
    case 'press':
      if (step.selector !== undefined) break;
      await actWhileTimePasses(page, running, () => page.session.page.keyboard.press(step.key ?? ''));
      return;
  }
  const locator = found(page, await selectorOf(page, step), { hidden: step.action === 'scroll_to' });
  await untilFound(page, step, () =>
    step.action === 'scroll_to' ? locator.count().then(Boolean) : locator.isVisible(),
  );
  await actWhileTimePasses(page, running, (signal) => ACTIONS[step.action]?.(locator, step, { signal, timeout: 0 }));
}

type ActionOptions = { signal: AbortSignal; timeout: number };
type LocatorAction = (locator: Locator, step: Step, options: ActionOptions) => Promise<unknown>;

/** Navigations are followed by this program, not by Playwright, which does not see the requests of the page. */
const ACTIONS: Partial<Record<StepAction, LocatorAction>> = {
  click: (locator, _step, options) => locator.click({ ...options, noWaitAfter: true }),
  hover: (locator, _step, options) => locator.hover(options),
  type: (locator, { text, secret }, options) => type(locator, secret ?? text ?? '', options),
  press: (locator, { key = '' }, options) => locator.press(key, { ...options, noWaitAfter: true }),
  select: (locator, { value = '' }, options) => locator.selectOption(value, options),
  check: (locator, { uncheck = false }, options) => locator.setChecked(!uncheck, options),
  scroll_to: (locator, _step, options) => locator.scrollIntoViewIfNeeded(options),
};

/**
 * Replaces the content of a field. The last KEYS_MAX characters are typed key by key, for pages that listen to keys. A text with
 * line breaks, and a text for what has no keys, such as a date, or for a label, is put in as a whole.
 */
async function type(locator: Locator, text: string, options: ActionOptions): Promise<void> {
  const isKeyed = !/\p{Cc}/u.test(text) && (await locator.and(locator.page().locator(KEYED)).count()) > 0;
  const keys = isKeyed ? [...text].slice(-KEYS_MAX).join('') : '';
  await locator.fill(text.slice(0, text.length - keys.length), options);
  if (keys !== '') await locator.pressSequentially(keys, options);
}

/**
 * The selector of a step; for the ref of an element that an earlier capture has listed, that of the element that fits it.
 * @throws CaptureError render_incomplete if none fits
 */
async function selectorOf(page: OpenPage, step: Step): Promise<string> {
  const selector = step.selector ?? '';
  const ref = refOf(selector);
  if (ref === null) return selector;
  let resolved = '';
  let misfit: CaptureError | null = null;
  const search = async () => {
    try {
      resolved = await resolveRef(page.world, ref);
      return true;
    } catch (error) {
      if (!(error instanceof CaptureError)) throw error;
      misfit = error;
      return false;
    }
  };
  if (await untilTrue(page, { ms: Math.min(OPTIONAL_STEP_MS, patienceOf(page, step)), test: search })) return resolved;
  throw misfit ?? new StepProblem('not_found', 'nothing visible matches the selector');
}

/** The first visible match; for `hidden`, the first match. */
function found({ session }: OpenPage, selector: string, { hidden = false } = {}): Locator {
  const all = session.page.locator(selector);
  return (hidden ? all : all.filter({ visible: true })).first();
}

async function waitFor(page: OpenPage, { step, path }: Running): Promise<void> {
  const { selector, hidden, text, url, expression, ms } = step;
  const { page: tab } = page.session;
  if (ms !== undefined) await pass(page, Math.min(ms, page.deadlines.leftMs()), ms);
  else if (selector !== undefined) {
    const locator = found(page, await selectorOf(page, step));
    await untilFound(page, step, () => locator.isVisible());
  } else if (hidden !== undefined)
    await until(page, step, {
      test: async () => !(await found(page, hidden).isVisible()),
      problem: 'something visible still matches the selector',
    });
  else if (text !== undefined)
    await until(page, step, {
      test: () => tab.getByText(text).filter({ visible: true }).first().isVisible(),
      problem: 'the text is not visible',
    });
  else if (url !== undefined)
    await until(page, step, { test: async () => isAt(tab.url(), url), problem: 'the page is at another address' });
  else if (expression !== undefined)
    await until(page, step, {
      test: () => isTrue(page, expression, `${path}.expression`),
      problem: 'the expression is not true',
    });
}

/** A pattern that begins with a slash has no origin. */
function isAt(url: string, pattern: string): boolean {
  const local = pattern.startsWith('/') ? url.replace(/^https?:\/\/[^/]*/, '') : url;
  return matchesPattern(local, pattern, { anchored: true });
}

async function untilFound(page: OpenPage, step: Step, test: () => Promise<boolean>): Promise<void> {
  await until(page, step, { test, problem: 'nothing visible matches the selector' });
}

async function until(
  page: OpenPage,
  step: Step,
  { test, problem }: { test: () => Promise<boolean>; problem: string },
): Promise<void> {
  if (await untilTrue(page, { ms: patienceOf(page, step), test })) return;
  throw new StepProblem(step.action === 'wait_for' ? 'not_yet' : 'not_found', problem);
}

/** The time for which a step waits, in ms of the page's time. */
function patienceOf({ deadlines }: OpenPage, { optional }: Step): number {
  return optional ? Math.min(OPTIONAL_STEP_MS, deadlines.leftMs()) : deadlines.leftMs();
}

interface Wait {
  /** The duration in ms of the page's time. */
  ms: number;
  test(): Promise<boolean>;
  /** Called before more time passes, with the real time so far, in ms. */
  meanwhile?(spentMs: number): Promise<void>;
}

/**
 * Lets the page's time pass until a test holds.
 * @returns false if it does not in time
 */
async function untilTrue(page: OpenPage, { ms, test, meanwhile }: Wait): Promise<boolean> {
  const { deadlines } = page;
  const began = monotonicNow();
  let answer: Promise<boolean | null> | null = null;
  for (let passed = 0; ; ) {
    // An expression may be a promise, which is kept only as the page's time passes.
    const lookMs = answer === null ? AT_ONCE_MS : LOOK_MS;
    answer ??= unlessGone(test());
    const holds = await deadlines.within(answer, lookMs);
    if (holds === true) return true;
    if (holds !== TIMED_OUT) answer = null;
    if (deadlines.leftMs() === 0) return false;
    const spentMs = monotonicNow() - began;
    if (passed >= ms && spentMs >= Math.min(ms, REAL_MIN_MS)) return false;
    await meanwhile?.(spentMs);
    passed += await pass(page, sliceAfter(passed), Math.min(deadlines.leftMs(), HOLD_MAX_MS));
  }
}

/**
 * Carries out an action; if it does not end at once, lets the page's time pass meanwhile.
 * @throws StepProblem, Playwright's Error
 */
async function actWhileTimePasses(
  page: OpenPage,
  { step, context }: Running,
  act: (signal: AbortSignal) => Promise<unknown> | undefined,
): Promise<void> {
  const end = new AbortController();
  const acting = Promise.resolve(act(end.signal)).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  let cleared = false;
  const clearBanners = async (spentMs: number) => {
    if (cleared || spentMs < BANNERS_AFTER_MS) return;
    cleared = true;
    await context.clearBanners();
  };
  const wait: Wait = { ms: patienceOf(page, step), test: () => acting.then(() => true), meanwhile: clearBanners };
  if (!(await untilTrue(page, wait))) end.abort();
  const outcome = await page.deadlines.within(acting, REAL_MIN_MS);
  if (outcome === TIMED_OUT) throw new StepProblem('no_answer', 'the page did not answer');
  // An action that leads to another document may lose its own.
  if (outcome !== null && !isGone(outcome.error)) throw outcome.error;
}

/** The page's time until the next check of a wait, in ms. */
function sliceAfter(passedMs: number): number {
  return passedMs < LONG_WAIT_MS ? CHECK_EVERY_MS : CHECK_LATE_EVERY_MS;
}

/** Lets the page's time pass. @returns how much of it, in ms */
async function pass(page: OpenPage, ms: number, realMs: number): Promise<number> {
  const began = monotonicNow();
  const run = await unlessGone(advanceTime(page, ms, { realMs: Math.max(1, realMs) }));
  return Math.max(run === null ? 0 : run.aheadMs + run.realTimeMs, monotonicNow() - began);
}

/** Waits for the requests that a step has caused, and follows a navigation to its end. */
async function followEffects(
  page: OpenPage,
  { before, context }: { before: OpenPage['main']['current']; context: StepsContext },
): Promise<void> {
  const { deadlines, network, world } = page;
  // The page asks for a navigation by the next frame; its request follows a little later.
  await deadlines.within(unlessGone(world.call('frames.passFrames', 1, FRAME_MAX_MS)), 2 * FRAME_MAX_MS);
  if (!(await leaves(page, before)) && network.isHolding()) await pass(page, AFTER_REQUESTS_MS, deadlines.leftMs());
  if (!(await leaves(page, before))) return;
  if ((await waitUntilLoaded(page, context.options)) !== before) await context.settle();
}

/** Whether the page is on its way to another document than `before`, or there. */
async function leaves({ deadlines, main }: OpenPage, before: OpenPage['main']['current']): Promise<boolean> {
  const begun = main.until(() => !main.requested);
  // The page's policy may forbid what it has asked for.
  if ((await deadlines.within(begun, REQUESTED_MAX_MS)) === TIMED_OUT) main.requested = false;
  return main.navigating || main.current !== before;
}

/**
 * Playwright's own messages are not passed on: their log repeats what was typed, and what the page has written.
 * @returns null for an error that ends the capture, whatever its step
 */
function problemOf(error: unknown, { selector, hidden }: Step): StepProblem | CaptureError | null {
  if (error instanceof StepProblem) return error;
  if (error instanceof CaptureError) return error.code === 'render_crashed' ? null : error;
  if (!(error instanceof Error) || isGone(error)) return null;
  const { message } = error;
  const [, reason, sentence] = REASONS.find(([pattern]) => pattern.test(message)) ?? [];
  if (reason !== undefined && sentence !== undefined)
    return new StepProblem(reason, sentence, reason === 'wrong_element' ? 'invalid_request' : undefined);
  if (/abort|Timeout/i.test(error.name) || /aborted|Timeout \d+ms/i.test(message))
    return new StepProblem('not_ready', 'the element did not become ready');
  if (/Unknown key/.test(message)) return new StepProblem('unknown_key', 'there is no such key', 'invalid_request');
  const isSelector =
    (selector ?? hidden) !== undefined && /selector|engine|Unexpected|parsing|InvalidSelector/i.test(message);
  if (isSelector) return new StepProblem('invalid_selector', 'the selector is not valid', 'invalid_request');
  return new StepProblem('failed', 'the browser could not do it', 'render_incomplete');
}

interface Failure {
  index: number;
  step: Step;
  problem: StepProblem | CaptureError;
  /** Secrets that the page may show. */
  typed: readonly string[];
  options: CaptureOptions;
}

/** Contains no secret, not even in the message of an exception that a script of the caller has met in the page. */
async function failed(page: OpenPage, { index, step, problem, typed, options }: Failure): Promise<CaptureError> {
  const { action, selector, hidden, key } = step;
  const object = selector ?? hidden ?? key;
  const description = object === undefined ? action : `${action} "${object.slice(0, SHOWN_MAX_CHARS)}"`;
  const picture = await failurePicture(page, options, typed);
  const own = problem instanceof CaptureError ? withoutSecrets(problem.details, typed) : { reason: problem.reason };
  const message = problem instanceof CaptureError ? withoutSecrets(problem.message, typed) : problem.message;
  const at = action === 'wait_for' ? addressOf(page, options, typed) : null;
  return new CaptureError({
    code: problem.code,
    message: `\`steps.${index}\` (${description}) failed: ${message}${message.endsWith('.') ? '' : '.'}${at === null ? '' : ` The page is at ${at}.`}`,
    details: { ...own, step: index, action, ...(at === null ? {} : { page_url: at }) },
    ...(problem instanceof CaptureError ? { retriable: problem.retriable, status: problem.status } : {}),
    ...(picture === null ? {} : { picture }),
    cause: problem,
  });
}

/** The address of the page, without the secrets that a form may have written into its address. */
function addressOf({ session }: OpenPage, options: CaptureOptions, typed: readonly string[]): string {
  const url = shownAddress(session.page.url().slice(0, URL_MAX_BYTES), options);
  return withoutSecrets(url, typed).slice(0, URL_SHOWN_CHARS);
}

/** The same strings, in which each secret is replaced, also as forms and scripts write it into addresses. */
function withoutSecrets<T>(value: T, typed: readonly string[]): T {
  if (typeof value === 'string') {
    return typed.flatMap(spellingsOf).reduce((text, secret) => text.replaceAll(secret, '…'), value as string) as T;
  }
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, typed)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, typed)])) as T;
}

function spellingsOf(secret: string): string[] {
  // encodeURI throws for a lone surrogate, which no address contains.
  const text = Buffer.from(secret).toString();
  return [secret, encodeURIComponent(text), encodeURI(text), String(new URLSearchParams([[text, '']])).slice(0, -1)];
}

const PICTURE_MAX_MS = 5_000;
/** Largest side of the picture in px. */
const SIDE_MAX_PX = 1_000;
const QUALITY = 70;

/**
 * A small webp of the view of a page whose capture has failed, without the secrets that were typed into it and what the request masks.
 * @returns null if the page does not allow it in time
 */
export async function failurePicture(
  page: OpenPage,
  options: CaptureOptions,
  typed: readonly string[],
): Promise<Buffer | null> {
  const { deadlines } = page;
  const leftMs = Math.min(PICTURE_MAX_MS, deadlines.endsAt - monotonicNow());
  const taken = await deadlines.within(
    take(page, options, typed).catch(() => null),
    leftMs,
  );
  return taken === TIMED_OUT ? null : taken;
}

async function take({ session, world }: OpenPage, options: CaptureOptions, typed: readonly string[]): Promise<Buffer> {
  const { cdp } = session;
  // A page whose scripts run could show the secrets again.
  await stopScripts(session, { isPrinted: false });
  if (typed.length > 0) await world.call('secrets.hide', [...typed]);
  const masked = isMasked({ options });
  // The boxes of masked elements must not move after the shot.
  if (masked) await stopPage(session, options);
  const shot = await captureShot(cdp, masked ? FAST : { format: 'jpeg', quality: 90, fast: true });
  return await sharp(masked ? await paintMask({ page: world, options }, shot) : shot)
    .resize({ width: SIDE_MAX_PX, height: SIDE_MAX_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY, effort: 2 })
    .toBuffer();
}
