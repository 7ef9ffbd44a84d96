import type { CaptureChanges } from '../../contract/capture-data.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Log } from '../../log.js';
import { answerBanners, type BannerReport } from '../consent/answer-banners.js';
import type { ProceduralRule } from '../in-page/procedural-rule.js';
import { source } from '../in-page/scriptlets/run.js?bundled';
import type { Scriptlet } from '../in-page/scriptlets/scriptlet.js';
import { DocumentReplaced } from '../page/document-replaced.js';
import type { PageSession } from '../page-session.js';
import { Interception } from '../requests/interception.js';
import { TargetHeaders } from '../requests/target-headers.js';
import { targetSessionOf } from '../requests/target-session-of.js';
import { CATEGORIES, type Category, OPTION_OF, switchedOn } from './category.js';
import { bannerCss, bannerFeatureCss, featureCss, hostCss, likelyHosts, proceduralRules, siteOf, startRules } from './cosmetics.js';
import type { Engines, Refusal } from './engines.js';
import { hidingExceptions } from './hiding-exceptions.js';
import { readScriptlet } from './scriptlet-syntax.js';

/** Blocking for one capture, from before its navigation to its end. */
export interface Guard {
  /** Number of blocked requests. */
  readonly blockedRequests: number;
  /** The number of blocked requests by category. */
  readonly blockedBy: Readonly<Record<Category, number>>;
  /**
   * Hides elements of the current page, and declines or hides consent banners. Limited in time, fast for a page without a
   * banner, and repeatable for later content. Never rejects: a page that prevents it yields `failed`.
   * @param last whether the picture is taken next, so that later banners are suppressed
   */
  answerBanners(signal: AbortSignal, last: boolean): Promise<BannerReport>;
  /** Reports the requests blocked and the banner declined so far. */
  explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner'>>;
  /** Detaches from the page. May be called twice. */
  stop(): Promise<void>;
}

export interface PageGuardParts {
  engines: Engines;
  /** The names of the lists that contain these rules; empty where unknown. */
  listsOf(refusals: readonly Refusal[]): Promise<string[]>;
  /** The source of consent-page.js. */
  consentBundle: string;
  log: Log;
}

/** The maximum length of a URL or rule in a report, in characters. */
const REPORT_CHARS = 300;

/** The time limit of answerBanners. */
const ANSWER_MAX_MS = 7_000;

/** Sets up blocking and the target's headers for a page session. Does nothing if neither is requested. */
export async function guardPage(parts: PageGuardParts, session: PageSession, options: CaptureOptions): Promise<Guard> {
  const on = switchedOn(options);
  const headers = new TargetHeaders(options.url, options.headers);
  if (on.length === 0 && headers.none && options.html === null) return NO_GUARD;
  const guard = new PageGuard(parts, session, on);
  await guard.start(options, headers);
  return guard;
}

const NONE: Readonly<Record<Category, number>> = { ads: 0, trackers: 0, chats: 0, cookies: 0 };
const NO_BANNER: BannerReport = { outcome: 'none', platform: null, scrollFreed: false, ms: 0 };
const NO_GUARD: Guard = {
  blockedRequests: 0,
  blockedBy: NONE,
  answerBanners: async () => NO_BANNER,
  explain: async () => ({ blocked: [], banner: { outcome: 'none', platform: null } }),
  stop: async () => {},
};

class PageGuard implements Guard {
  #interception: Interception | null = null;
  /** Hosts whose specific hiding rules have been applied. */
  readonly #styledHosts = new Set<string>();
  readonly #procedural = new Map<string, Procedural>();
  #banner: CaptureChanges['banner'] = { outcome: 'none', platform: null };

  constructor(
    private readonly parts: PageGuardParts,
    private readonly session: PageSession,
    private readonly on: readonly Category[],
  ) {}

  async start({ url, html }: Pick<CaptureOptions, 'url' | 'html'>, headers: TargetHeaders): Promise<void> {
    const [interception] = await Promise.all([
      Interception.start(targetSessionOf(this.session), {
        mainFrameId: this.session.mainFrameId,
        engines: this.parts.engines,
        on: this.on,
        headers,
        refuses: (url) => this.session.captureProxy.refuses(url),
        document: html === null ? null : { url, html },
      }),
      this.hideAtStart(url),
      this.runScriptlets(url),
    ]);
    this.#interception = interception;
  }

  get blockedBy(): Readonly<Record<Category, number>> {
    return this.#interception?.blocked ?? NONE;
  }

  get blockedRequests(): number {
    return CATEGORIES.reduce((sum, category) => sum + this.blockedBy[category], 0);
  }

  async answerBanners(signal: AbortSignal, last: boolean): Promise<BannerReport> {
    const began = performance.now();
    const ms = () => Math.round(performance.now() - began);
    if (this.on.length === 0) return NO_BANNER;
    try {
      const report = { ...(await withTimeLimit(this.answer(last), signal, this.session.lost)), ms: ms() };
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

  async explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner'>> {
    const refused = this.#interception?.firstBlocked ?? [];
    const lists = await this.parts.listsOf(refused);
    const blocked = refused.map(({ category, url, filter }, nth) => ({
      option: OPTION_OF[category],
      url: (url.split(/[?#]/, 1)[0] ?? '').slice(0, REPORT_CHARS),
      rule: (filter?.toString() ?? '').slice(0, REPORT_CHARS),
      list: lists[nth] ?? '',
    }));
    return { blocked, banner: this.#banner };
  }

  async stop(): Promise<void> {
    await this.#interception?.[Symbol.asyncDispose]();
  }

  private async answer(last: boolean): Promise<Omit<BannerReport, 'ms'>> {
    const interception = this.#interception;
    if (interception === null) return NO_BANNER;
    const { engines, consentBundle } = this.parts;
    const { page, world } = this.session;
    const url = page.url();
    if (!/^https?:/.test(url)) return NO_BANNER;
    const general = this.on.includes('cookies') ? bannerCss(engines, this.on, url) : null;
    const seen = await world.call('consent.inspect', { bannerCss: general, refused: interception.refusedScripts, last });
    const css = `${this.hidingRulesOf(url)}\n${featureCss(engines, this.on, { url, features: seen })}`.trim();
    if (css !== '') await world.call('consent.applyHidingRules', { css, count: false });
    await this.applyProcedural(url, 'others');
    if (general === null) return NO_BANNER;
    const special = bannerFeatureCss(engines, this.on, { url, features: seen });
    return await answerBanners({
      page,
      world,
      consentBundle,
      // If there was nothing to decline, the inspection has already applied the general rules.
      css: seen.banner === 'none' ? special : `${general}\n${special}`.trim(),
      hideMore: () => this.applyProcedural(url, 'banners'),
      seen,
      last,
      refusedPlatform: interception.blocked.cookies > 0,
    });
  }

  /** Must precede the navigation: Chromium accepts no such commands during it. */
  private async hideAtStart(url: string): Promise<void> {
    const rules = startRules(this.parts.engines, this.on, url);
    if (rules === null) return;
    for (const host of Object.keys(rules.byHost)) this.#styledHosts.add(host);
    await this.session.world.callAtStart('consent.applyStartRules', [rules], { inFrames: false });
  }

  /** Must precede the navigation, like hideAtStart. */
  private async runScriptlets(url: string): Promise<void> {
    const source = scriptletSource(this.parts.engines, this.on, url);
    if (source === null) return;
    const { cdp } = this.session;
    await Promise.all([cdp.send('Page.enable'), cdp.send('Page.addScriptToEvaluateOnNewDocument', { source })]);
  }

  /** Applies procedural rules. Rules that exceed the time limit are dropped for this host. */
  private async applyProcedural(url: string, of: keyof Procedural): Promise<number> {
    const { [of]: rules } = this.proceduralOf(url);
    if (rules.length === 0) return 0;
    try {
      return await this.session.world.callWithTimeout(PROCEDURAL_MAX_MS, 'procedural.apply', rules);
    } catch (error) {
      if (error instanceof DocumentReplaced) throw error;
      this.parts.log.debug({ err: error }, 'the procedural rules for a page were dropped');
      this.#procedural.set(new URL(url).hostname, { banners: [], others: [] });
      return 0;
    }
  }

  private proceduralOf(url: string): Procedural {
    const { hostname } = new URL(url);
    const known = this.#procedural.get(hostname);
    if (known !== undefined) return known;
    const rulesOf = (isOne: (category: Category) => boolean) =>
      proceduralRules(this.parts.engines, { of: this.on.filter(isOne), on: this.on }, url);
    const procedural = { banners: rulesOf((one) => one === 'cookies'), others: rulesOf((one) => one !== 'cookies') };
    this.#procedural.set(hostname, procedural);
    return procedural;
  }

  /** @returns the rules of a host that a redirect led to; empty if they have been applied */
  private hidingRulesOf(url: string): string {
    const { hostname } = new URL(url);
    if (this.#styledHosts.has(hostname)) return '';
    this.#styledHosts.add(hostname);
    return hostCss(this.parts.engines, this.on, url);
  }
}

/** A page's rules that no style sheet can express. Those for banners apply only after banners could be declined. */
interface Procedural {
  banners: ProceduralRule[];
  others: ProceduralRule[];
}

/** The page stops much earlier by itself, unless a list's regular expression does not terminate. */
const PROCEDURAL_MAX_MS = 500;

/** @throws Error if the signal aborts, the page closes or the time limit expires first */
async function withTimeLimit<Result>(work: Promise<Result>, ...signals: AbortSignal[]): Promise<Result> {
  const end = AbortSignal.any([...signals, AbortSignal.timeout(ANSWER_MAX_MS)]);
  work.catch(() => {});
  end.throwIfAborted();
  return await new Promise<Result>((resolve, reject) => {
    const onEnd = () => reject(end.reason);
    end.addEventListener('abort', onEnd, { once: true });
    work.then(resolve, reject).finally(() => end.removeEventListener('abort', onEnd));
  });
}

/** The maximum number of scriptlets for one host. */
const SCRIPTLETS_MAX = 200;

/**
 * The script to run in each document before its own scripts, for the hosts likely to serve the target; null if the lists
 * call no scriptlets there.
 */
export function scriptletSource(engines: Engines, on: readonly Category[], url: string): string | null {
  const byHost = Object.fromEntries(likelyHosts(url).map((host) => [host, scriptletsOf(engines, on, `https://${host}/`)]));
  if (Object.values(byHost).every((scriptlets) => scriptlets.length === 0)) return null;
  return `(() => { ${source}\nstillframe.run(${JSON.stringify(byHost)}); })();`;
}

function scriptletsOf(engines: Engines, on: readonly Category[], url: string): Scriptlet[] {
  const site = siteOf(url);
  const exceptions = hidingExceptions(engines, on, site);
  const calls = new Map<string, Scriptlet>();
  for (const category of on) {
    const { matches } = engines[category].matchCosmeticFilters({ ...site, getRulesFromDOM: false, getExtendedRules: false });
    for (const { filter, exception } of matches) {
      if (!filter?.isScriptInject() || exception !== undefined || !exceptions.allows(filter)) continue;
      const scriptlet = readScriptlet(filter.getSelector());
      if (scriptlet !== null) calls.set(filter.getSelector(), scriptlet);
    }
  }
  return [...calls.values()].slice(0, SCRIPTLETS_MAX);
}
