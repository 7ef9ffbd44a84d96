import { z } from 'zod';
import type { CaptureChanges } from '../../contract/capture-data.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { POPUP_KINDS, type PopupKind } from '../../contract/popups.js';
import type { Log } from '../../log.js';
import { orElse, orLate } from '../deadlines.js';
import type { ClosedPopup } from '../in-page/consent/popups.js';
import type { ProceduralRule } from '../in-page/procedural.js';
import { bannerCss, hidingCss, proceduralRules, startRules } from '../lists/cosmetics.js';
import { type Category, type Engines, OPTION_OF, type Refusal, switchedOn } from '../lists/engines.js';
import { DocumentReplaced, type PageSession } from '../page-session.js';
import { answerBanners, type BannerReport } from './answer-banners.js';
import { Interception } from './interception.js';

export interface PageGuardDeps {
  engines: Engines;
  /** The names of the lists that contain these rules; empty where unknown. */
  listsOf(refusals: readonly Refusal[]): Promise<string[]>;
  /** The source of consent-page.js. */
  consentBundle: string;
  log: Log;
}

/** The maximum number of blocked requests in a report. */
const BLOCKED_MAX = 50;
/** The maximum length of a URL or rule in a report, in characters. */
const REPORT_CHARS = 300;
/** The time limit of answerBanners. */
const ANSWER_MAX_MS = 7_000;
/** The page stops much earlier by itself, unless a list's regular expression does not terminate. */
const PROCEDURAL_MAX_MS = 500;
/** The maximum number of closed popups in a report. */
const POPUPS_MAX = 20;
const POPUP_NAME_CHARS = 120;
const POPUPS_MAX_MS = 4_000;
const closedSchema: z.ZodType<ClosedPopup[]> = z.array(
  z.object({ kind: z.enum(POPUP_KINDS), element: z.string().max(POPUP_NAME_CHARS), isClosed: z.boolean() }),
);
const NO_BANNER: BannerReport = { outcome: 'none', platform: null, scrollFreed: false, ms: 0 };

/** Sets up blocking and the target's headers for a page session. Must be called before the navigation. */
export async function guardPage(
  parts: PageGuardDeps,
  session: PageSession,
  options: CaptureOptions,
): Promise<PageGuard> {
  const guard = new PageGuard(parts, session, { on: switchedOn(options), popups: popupsOf(options) });
  await guard.start(options);
  return guard;
}

/** A login that a step has opened is what the caller wants to see. */
function popupsOf({ blockPopups, steps }: CaptureOptions): PopupKind[] {
  return steps.length === 0 ? blockPopups : blockPopups.filter((kind) => kind !== 'login');
}

/** Whether a capture without blocking changes requests. */
function needsInterception({ headers, html, blockRequests, blockResources, httpCredentials }: CaptureOptions): boolean {
  const blocks = blockRequests.length > 0 || blockResources.length > 0;
  return Object.keys(headers).length > 0 || html !== null || blocks || httpCredentials !== null;
}

/** Blocking for one capture, from before its navigation to its end. */
export class PageGuard {
  #interception: Interception | null = null;
  /** Hosts whose specific hiding rules have been applied. */
  readonly #styledHosts = new Set<string>();
  /** Rules that no style sheet can express. Those for banners apply only after banners could be declined. */
  readonly #procedural = new Map<string, ProceduralRule[]>();
  #banner: CaptureChanges['banner'] = { outcome: 'none', platform: null };
  readonly #closed: NonNullable<CaptureChanges['popups']> = [];
  private readonly on: readonly Category[];
  private readonly popups: readonly PopupKind[];

  constructor(
    private readonly parts: PageGuardDeps,
    private readonly session: PageSession,
    { on, popups }: { on: readonly Category[]; popups: readonly PopupKind[] },
  ) {
    this.on = on;
    this.popups = popups;
  }

  /** Does nothing if there is nothing to block or to change. Chromium accepts no such commands during the navigation. */
  async start(options: CaptureOptions): Promise<void> {
    const { parts, session, on } = this;
    if (on.length === 0 && !needsInterception(options)) return;
    [this.#interception] = await Promise.all([
      Interception.start(session, { engines: parts.engines, on, options }),
      this.#hideAtStart(options.url),
    ]);
  }

  /** The number of blocked requests. */
  get blockedRequests(): number {
    const byLists = Object.values(this.#interception?.blocked ?? {}).reduce((sum, count) => sum + count, 0);
    return byLists + (this.#interception?.blockedByCaller ?? 0);
  }

  /**
   * Hides elements of the current page, and declines or hides consent banners. Limited in time, fast for a page without a
   * banner, and repeatable for later content. Never rejects: a page that prevents it yields `failed`.
   */
  async answerBanners(signal: AbortSignal): Promise<BannerReport> {
    const began = performance.now();
    const ms = () => Math.round(performance.now() - began);
    if (this.on.length === 0) return NO_BANNER;
    const end = AbortSignal.any([signal, this.session.lost]);
    try {
      const report = {
        ...(await orLate(
          this.#answer(),
          { ms: ANSWER_MAX_MS, signal: end },
          () => new Error(`the page did not answer within ${ANSWER_MAX_MS} ms`),
        )),
        ms: ms(),
      };
      if (report.outcome !== 'none') {
        this.#banner = { outcome: report.outcome, platform: report.platform };
        this.parts.log.info({ banner: report }, 'answered a consent banner');
      }
      return report;
    } catch (error) {
      this.parts.log.debug({ err: error }, 'the consent banners of a page could not be answered');
      return { ...NO_BANNER, outcome: 'failed', ms: ms() };
    }
  }

  /**
   * Closes windows that stand before a page with enough readable text (extensions.md, Popups). Repeatable and limited in time; a page that
   * prevents it keeps them.
   * @returns how many were closed
   */
  async closePopups(): Promise<number> {
    if (this.popups.length === 0) return 0;
    const closing = this.session.world.call('popups.close', {
      kinds: this.popups,
      listed: this.on.includes('popups'),
    });
    const answer = await orElse(closing, { ms: POPUPS_MAX_MS, signal: this.session.lost }, null);
    const closed = closedSchema.safeParse(answer).data ?? [];
    for (const { kind, element, isClosed } of closed) {
      this.parts.log.info({ popup: { kind, isClosed } }, 'closed a popup');
      if (this.#closed.length < POPUPS_MAX)
        this.#closed.push({ kind, element, outcome: isClosed ? 'closed' : 'hidden' });
    }
    return closed.length;
  }

  /** Reports the requests that `blocked_requests` counts, and the banner declined so far. */
  async explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner' | 'popups'>> {
    const first = this.#interception?.firstBlocked ?? [];
    const refused = first.filter((request) => 'category' in request);
    const lists = await this.parts.listsOf(refused);
    const byRules = first.map((request) => {
      const byList = 'category' in request;
      return {
        option: byList ? OPTION_OF[request.category] : request.option,
        url: (request.url.split(/[?#]/, 1)[0] ?? '').slice(0, REPORT_CHARS),
        rule: (byList ? (request.filter?.toString() ?? '') : request.rule).slice(0, REPORT_CHARS),
        list: byList ? (lists[refused.indexOf(request)] ?? '') : '',
      };
    });
    const byDestination = this.session.captureProxy.refusals.map(({ host, port }) => ({
      option: 'destinations',
      url: `${host}:${port}`.slice(0, REPORT_CHARS),
      rule: '',
      list: '',
    }));
    const popups = this.popups.length === 0 ? null : this.#closed;
    return { blocked: [...byRules, ...byDestination].slice(0, BLOCKED_MAX), banner: this.#banner, popups };
  }

  async #answer() {
    const interception = this.#interception;
    const { on, parts } = this;
    const { engines, consentBundle } = parts;
    const { page, world } = this.session;
    const url = page.url();
    if (interception === null || !/^https?:/.test(url)) return NO_BANNER;
    const general = on.includes('cookies') ? bannerCss(engines, on, { url, base: true, host: true }) : null;
    const inspection = await world.call('consent.inspect', general);
    const css = `${this.#hostCss(url)}\n${hidingCss(engines, on, { url, features: inspection })}`.trim();
    if (css !== '') await world.call('consent.applyHidingRules', { css, banners: false });
    await this.#applyProcedural(url, false);
    if (general === null) return NO_BANNER;
    const special = bannerCss(engines, on, { url, features: inspection });
    return await answerBanners({
      page,
      world,
      allowEvaluation: () => this.session.allowEvaluation(),
      consentBundle,
      // If there was nothing to decline, the inspection has already applied the general rules.
      css: inspection.hasBanner ? `${general}\n${special}`.trim() : special,
      hideMore: () => this.#applyProcedural(url, true),
      inspection,
      refusedPlatform: interception.blocked.cookies > 0,
    });
  }

  async #hideAtStart(url: string): Promise<void> {
    const rules = startRules(this.parts.engines, this.on, url);
    if (rules === null) return;
    for (const host of Object.keys(rules.byHost)) this.#styledHosts.add(host);
    await this.session.world.callAtStart('consent.applyStartRules', [rules], { inFrames: false });
  }

  /** @returns the rules of a host that a redirect led to; empty if they have been applied */
  #hostCss(url: string): string {
    const { hostname } = new URL(url);
    if (this.#styledHosts.has(hostname)) return '';
    this.#styledHosts.add(hostname);
    return hidingCss(this.parts.engines, this.on, { url, host: true });
  }

  /** Applies the procedural rules for banners, or all others. Rules that exceed the time limit are dropped for this host. */
  async #applyProcedural(url: string, banners: boolean): Promise<number> {
    const key = `${new URL(url).hostname} ${banners}`;
    const of = this.on.filter((category) => (category === 'cookies') === banners);
    const rules = this.#procedural.get(key) ?? proceduralRules(this.parts.engines, { of, on: this.on }, url);
    this.#procedural.set(key, rules);
    if (rules.length === 0) return 0;
    try {
      return await this.session.world.callWithTimeout(PROCEDURAL_MAX_MS, 'procedural.apply', rules);
    } catch (error) {
      if (error instanceof DocumentReplaced) throw error;
      this.parts.log.debug({ err: error }, 'the procedural rules for a page were dropped');
      this.#procedural.set(key, []);
      return 0;
    }
  }
}
