/** One load of a page and its pictures. `PageCapture.run` lists what happens. Knows nothing of memory, leases and retries. */

import type { CaptureChanges, CaptureWarning, Inspection } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import { type ArtifactFormat, type CaptureOptions, shownAddress } from '../contract/capture-request.js';
import type { Extraction, ExtractRules } from '../contract/extract.js';
import type { PageLoad } from '../contract/page-loads.js';
import type { PdfFiles } from '../pdf/pdf-files.js';
import { type Deadlines, monotonicNow, TIMED_OUT } from './deadlines.js';
import type { ToMarkdown, ValuesReader } from './inspect/extract.js';
import type { FactsReader } from './inspect/facts-reader.js';
import type { EncodeQueue } from './memory.js';
import { checkPage } from './page/check-page.js';
import { isShownFile, navigateToFile, type PdfDrawing } from './page/file-target.js';
import { runCustomJs } from './page/main-world.js';
import {
  bypassCsp,
  checkSelectors,
  type EgressCountries,
  edit,
  emulateOrigin,
  keepsNavigating,
  navigateToTarget,
  restoreLogin,
  verifyEgress,
  waitUntil,
  waitUntilLoaded,
} from './page/navigate.js';
import { type DocumentState, type OpenPage, openPage } from './page/open-page.js';
import {
  ADVANCE_AGAIN_MS,
  advanceTime,
  dropStalledStyleSheets,
  holdClock,
  resumePage,
  waitForAssets,
  waitForContent,
  waitForIdle,
  waitForSelector,
  whileTimePasses,
} from './page/page-clock.js';
import { boundedPage, type DebugSink, DocumentReplaced, type PageSession } from './page-session.js';
import { checkPicture } from './picture/check-picture.js';
import { scrollToElement } from './picture/element-picture.js';
import { type ScrollReport, scrollThrough, waitForReaction } from './picture/full-page.js';
import { isPrinted } from './picture/pdf-picture.js';
import { type Picture, type PictureTask, setDensity } from './picture/region-picture.js';
import {
  collectWarnings,
  endPrint,
  findElements,
  groupPictures,
  type PictureGroup,
  type PictureToTake,
  readMarkup,
  stopAgain,
  stopForPictures,
  type Taken,
  type TakenPicture,
  TakenPictures,
  takeOrFallBackToView,
  takePicture,
  undoPicture,
  withinMotion,
} from './picture/take-picture.js';
import {
  type BlockedAndBanner,
  explain,
  pictureWarnings,
  substitutedFonts,
  warningsOf,
  watchMissingFiles,
} from './report.js';
import { type StageTime, type StageTimes, timingsOf } from './stage-times.js';
import { runSteps, waitForFunction } from './steps/steps.js';

/** One picture. Its size is in output px, read from the encoded bytes; that of a PDF in CSS px of its first page. */
interface RenderedPicture extends Pick<Picture, 'content' | 'width' | 'height' | 'diagnostics' | 'part'> {
  format: ArtifactFormat;
  warnings: CaptureWarning[];
}

/** One of several pictures of a capture. */
export interface NamedPicture extends RenderedPicture {
  name: string;
}

/** A picture and its metadata. */
export interface Rendering extends RenderedPicture {
  /** All pictures in the order of the request, the first included; null unless it asks for several. */
  captures: NamedPicture[] | null;
  finalUrl: string;
  blockedRequests: number;
  /** Present only with the option `explain`. */
  changed: CaptureChanges | null;
  egressCountry: string | null;
  inspection: Inspection | null;
  /** Absent without `extract`. */
  extraction?: Extraction;
  /** The document's HTML; absent without `save_html`. */
  html?: Buffer;
  /** Present only with the option `document`; `status` is null for a document without a response. */
  response?: { status: number | null };
  /** Durations in ms by stage: navigate, run, settle, scroll, stop, shoot, encode. */
  timings: Record<string, number>;
}

/** The capture that a load of a page belongs to. */
export interface PageTask {
  options: CaptureOptions;
  /** Identifies the capture in the log and in leases. */
  id: string;
  /** Called at the end of each rendering, whether it failed or not. */
  onStages?(stages: readonly StageTime[]): void;
  /** Receives each step and band, for `--debug`. */
  debug?: DebugSink | undefined;
}

/** The parts of the process that a capture of a page uses. */
export interface PageCaptureDeps {
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  pdfs: PdfFiles;
  drawing: PdfDrawing;
  /** The queue for encoding animated pictures, each of which may take a minute. */
  animations: EncodeQueue;
  /** STILLFRAME_FFMPEG, which makes mp4. */
  ffmpeg: string | null;
  inspect(session: PageSession, options: { timeoutMs: number }): Promise<Inspection>;
  toMarkdown: ToMarkdown;
}

/** Blocks requests and removes consent banners of one page. */
interface BlockGuard {
  readonly blockedRequests: number;
  answerBanners(signal: AbortSignal): Promise<{ outcome: string }>;
  closePopups(): Promise<number>;
  explain(): Promise<BlockedAndBanner>;
}

const INSPECT_MS = 5_000;
/** The inspection may run this long past the budget. It gets INSPECT_MIN_MS in any case. */
const INSPECT_GRACE_MS = 4_500;
const INSPECT_MIN_MS = 500;
/** The number of navigations during the capture that are followed before it fails. */
const NAVIGATIONS_MAX = 3;
const SCROLL_MAX_MS = 20_000;
/** Time reserved for the steps after scrolling. */
const AFTER_SCROLL_MS = 8_000;
/** A picture of the view may take this long past the budget. A crash is reported up to 1 s later, and 5 s past it is the end. */
const PICTURE_GRACE_MS = 3_500;

/** Takes the pictures of one page load, group by group (`groupPictures`). Each group scrolls, checks and stops the page once. */
export class PageCapture {
  readonly #page: OpenPage;
  readonly #options: CaptureOptions;
  /** Whether the request asks for several pictures, each with a name. */
  readonly #several: boolean;
  readonly #missing: ReadonlySet<string>;
  readonly #guard: Promise<BlockGuard>;
  /** The warning about fonts, which the page is asked for while its first picture is encoded. */
  #fonts: ReturnType<typeof substitutedFonts> | null = null;
  /** Null without `inspect_page`. */
  #facts: FactsReader | null = null;
  /** Null without `extract`. */
  #values: ValuesReader | null = null;
  #html: Buffer | null = null;

  /** @param heldBytes encoded bytes of earlier loads */
  constructor(
    private readonly session: PageSession,
    private readonly deps: PageCaptureDeps,
    private readonly task: PageTask,
    private readonly load: PageLoad,
    private readonly heldBytes: number,
    private readonly deadlines: Deadlines,
    private readonly times: StageTimes,
  ) {
    this.#options = task.options;
    this.#several = load.pictures[0]?.name !== null;
    this.#missing = watchMissingFiles(session, task.options);
    this.#page = openPage(session, deadlines, task);
    this.#guard = deps.blocker.guard(session, task.options, task.id);
  }

  async run(): Promise<Rendering> {
    const egressCountry = await this.#prepare();
    await this.#navigate();
    await this.#act();
    const { taken, document } = await this.#ofOneDocument(async (shown) => {
      await this.#settle(shown);
      const pictures = new TakenPictures(this.heldBytes);
      for (const group of groupPictures(this.load.pictures)) {
        if (!group.isFirst) await this.#resume(group);
        const scroll = await this.#scroll(group);
        await this.#check(group, shown);
        const deadline = await this.#stop(group);
        await this.#shoot(group, { scroll, deadline, pictures });
      }
      return await this.#encode(pictures);
    });
    for (const one of taken)
      await collectWarnings(this.#page, one, () => checkPicture(this.#page, one.picture, one.options));
    const extraction = await this.#finishValues();
    const report = await this.#report(taken, document);
    return { ...report, ...(extraction === null ? {} : { extraction }), egressCountry };
  }

  async #finishValues(): Promise<Extraction | null> {
    const rules = this.#options.extract;
    if (this.#values === null || rules === null) return null;
    const { extraction, missing } = await this.deadlines.orEnd(this.#values.finish());
    if (missing.length > 0) {
      const { valuesMissing } = await import('./inspect/extract.js');
      this.#page.tolerance.orThrow(valuesMissing(missing, rules));
    }
    return extraction;
  }

  /** Prepares everything that must be in place before the navigation, in parallel. */
  async #prepare(): Promise<string | null> {
    const { session, deadlines, deps } = this;
    const options = this.#options;
    const preparing = Promise.all([
      verifyEgress(deps.countries, { captureProxy: session.captureProxy, options, deadlines }),
      this.#guard,
      checkSelectors(session, options),
      edit(session, options),
      restoreLogin(session, options),
      bypassCsp(session, options),
      emulateOrigin(session, options),
      options.animate === null ? undefined : holdClock(session),
    ]);
    const prepared = await deadlines.withinBudget(preparing);
    if (prepared === TIMED_OUT) throw browserNotReady(deadlines);
    return prepared[0];
  }

  async #navigate(): Promise<void> {
    this.times.enter('navigate', 15);
    await navigateToTarget(this.#page, this.#options).catch(async (error: unknown) => {
      if (!isShownFile(error, this.#options)) throw error;
      const { drawing, encodes } = this.deps;
      await navigateToFile(this.#page, this.#options, {
        drawing,
        inTurn: (work) => encodes.run(Number.POSITIVE_INFINITY, work),
        all: this.load.pictures.some(({ options }) => showsMore(options)),
      });
    });
    await waitUntil(this.#page, this.#options.waitUntil);
  }

  /** Runs the scripts and steps of the request, and waits for what it names. */
  async #act(): Promise<void> {
    const page = this.#page;
    const {
      customJs,
      steps,
      waitForSelector: selector,
      waitForFunction: condition,
      inspectPage,
      annotate,
      extract,
    } = this.#options;
    if (customJs !== null) await whileTimePasses(page, runCustomJs(page, customJs));
    if (steps.length > 0) {
      this.times.enter('steps', 30);
      const clearBanners = async () => void (await this.#answerBanners());
      const settle = async () => {
        if (this.#options.waitForIdle) await waitForIdle(page);
        await clearBanners();
      };
      await runSteps(page, { options: this.#options, settle, clearBanners });
    }
    if (selector !== null) await whileTimePasses(page, waitForSelector(page, selector));
    if (condition !== null) await waitForFunction(page, condition);
    if (inspectPage) this.#facts = await openFacts(page, annotate);
    if (extract !== null) this.#values = await openValues(page, extract, this.deps.toMarkdown);
  }

  /** Takes the pictures again if the page navigated to another document meanwhile. */
  async #ofOneDocument(
    take: (document: DocumentState) => Promise<Taken>,
  ): Promise<{ taken: Taken; document: DocumentState }> {
    const { main } = this.#page;
    for (let moves = 0; moves <= NAVIGATIONS_MAX; moves++) {
      const document = await waitUntilLoaded(this.#page, this.#options);
      try {
        const taken = await take(document);
        if (main.current === document) return { taken, document };
      } catch (error) {
        if (main.current === document && !(error instanceof DocumentReplaced)) throw error;
      }
      this.#page.reportsSize = false;
      await resumePage(this.session);
    }
    throw keepsNavigating();
  }

  /** Runs the page's clock ahead and removes banners, until the page is as a visitor sees it. */
  async #settle(document: DocumentState): Promise<void> {
    const page = this.#page;
    const { animate, customJs, delay, steps, waitForContent: content, waitForIdle: idle } = this.#options;
    this.#fonts = null;
    this.times.enter('run', 40);
    // Moving content is shown from its beginning, unless the whole page is shown.
    if (animate !== null && !animate.scroll) await waitForAssets(page);
    else if (idle) await waitForIdle(page);
    const isRepeatable = customJs === null && steps.length === 0;
    if (page.network.refusedAhead && !page.realTime && !page.held && isRepeatable) await loadInRealTime(page, document);
    this.times.enter('settle', 50);
    await this.#clearBanners();
    if (content) await waitForContent(page);
    if (delay > 0) {
      using _paused = this.deadlines.pauseBudget();
      await this.deadlines.orEnd(advanceTime(page, delay, { realMs: delay }));
    }
    if (content || delay > 0) await this.#clearBanners();
    await dropStalledStyleSheets(page, document);
    if (this.#options.files?.template !== undefined) await this.#fitTexts();
    await this.#facts?.readVitals();
  }

  /** Shrinks the texts of a template to their boxes. */
  async #fitTexts(): Promise<void> {
    const misfit = await this.deadlines.orEnd(this.#page.world.call('fit.fit'));
    if (misfit === null) return;
    throw new CaptureError({
      code: 'invalid_request',
      message: `The text of ${misfit.element} does not fit its box with a font of ${misfit.px} px. Shorten it, or let the template cut it with \`data-fit-else="ellipsis"\`.`,
    });
  }

  /** Lets the page run again as it was loaded, before the next group of pictures. */
  async #resume({ options: { view } }: PictureGroup): Promise<void> {
    await resumePage(this.session);
    await setDensity(boundedPage(this.session, this.deadlines.endsAt), view);
  }

  /**
   * Scrolls as far as the pictures need it, and chooses the elements of those that are of elements.
   * @returns null if the page was not scrolled through
   */
  async #scroll(group: PictureGroup): Promise<ScrollReport | null> {
    const { deadlines } = this;
    this.times.enter('scroll', 60);
    let scroll: ScrollReport | null = null;
    if (group.scrolls) {
      using _paused = deadlines.pauseBudget();
      const scrolling = scrollThrough(this.#page, group.options, {
        deadline: Math.min(monotonicNow() + SCROLL_MAX_MS, deadlines.endsAt - AFTER_SCROLL_MS),
        // A page that does not respond at all fails as early as one that is not scrolled.
        respondsBy: this.#viewDeadline,
        waitForIdle: async () => {
          await this.#idleAgain();
          await this.#clearBanners();
        },
      });
      scroll = await deadlines.orEnd(scrolling);
    }
    if (group.options.selector !== null) await this.#scrollToElements(group);
    return scroll;
  }

  async #scrollToElements(group: PictureGroup): Promise<void> {
    const page = this.#page;
    const { deadlines } = this;
    if (this.#several) group.pictures = await deadlines.orEnd(findElements(page, group.pictures));
    const outOfView = group.pictures.filter(({ isInView }) => isInView !== true);
    const goesBack = this.#several && outOfView.length > 0;
    if (goesBack) await page.world.call('undo.begin');
    for (const { options, index = 0 } of outOfView) {
      const leftMs = deadlines.leftMs();
      // After its budget, the element is captured in its current state.
      const scrolling = { deadline: monotonicNow() + leftMs, waitForIdle: () => this.#idleAgain(), index };
      await deadlines.within(scrollToElement(page, options, scrolling), leftMs);
    }
    if (!goesBack) return;
    const since = performance.now();
    if (await page.world.call('undo.restore')) await deadlines.orEnd(waitForReaction(page, since));
  }

  async #check({ options }: PictureGroup, document: DocumentState): Promise<void> {
    const { main } = this.#page;
    this.times.enter('settle', 70);
    // A document that loads no further, such as one with a font that hangs, is not waited for again.
    const hasMoved = main.current !== document || main.navigating || document.failure !== null;
    if (hasMoved && (await waitUntilLoaded(this.#page, options)) !== document)
      throw new DocumentReplaced('the page navigated away');
    await checkPage(this.#page, document, options);
  }

  /** @returns the time by which the pictures must have been taken, in ms by `monotonicNow` */
  async #stop(group: PictureGroup): Promise<number> {
    this.times.enter('stop', 75);
    const deadline = group.scrolls ? this.deadlines.endsAt : this.#viewDeadline;
    await stopForPictures(this.#page, group, deadline);
    return deadline;
  }

  async #shoot(
    group: PictureGroup,
    { scroll, deadline, pictures }: { scroll: ScrollReport | null; deadline: number; pictures: TakenPictures },
  ): Promise<void> {
    const page = this.#page;
    const { deadlines, deps } = this;
    this.times.enter('shoot', 80);
    if (this.#several) await withinMotion(page, deadline, page.world.call('undo.begin'));
    const animation = {
      deadline: deadlines.endsAt,
      encodes: deps.animations,
      pdfs: deps.pdfs,
      ffmpeg: deps.ffmpeg,
      signal: deadlines.signal,
    };
    // A navigation restarts the capture of a view, so its time limit covers all attempts.
    const isBudgeted = scroll === null && group.options.animate === null;
    using _paused = isBudgeted ? null : deadlines.pauseBudget();
    for (const [index, picture] of group.pictures.entries()) {
      const { options } = picture;
      if (this.#several && picture.kind === 'pdf') await setDensity(boundedPage(this.session, deadline), options.view);
      const printed = isPrinted(options);
      if (printed && (index > 0 || !isPrinted(group.options))) await stopAgain(page, options, deadline);
      const onShot = await deadlines.orEnd(pictures.next(picture));
      const inputs = {
        deadline,
        scroll,
        encodes: deps.encodes,
        pdfs: deps.pdfs,
        animation,
        index: picture.index,
        onArranged: await deadlines.orEnd(this.#beginPicture(picture, deadline)),
      };
      const onTaken = () => {
        this.#fonts ??= substitutedFonts(page, options);
        if (this.#several) onShot();
      };
      const shot = takePicture(page, options, { ...inputs, onShot: onTaken });
      await deadlines.orEnd(pictures.add(picture, takeOrFallBackToView(page, picture, shot, inputs)));
      if (printed) await withinMotion(page, deadline, endPrint(page));
      if (this.#several && !(group.isLast && index === group.pictures.length - 1))
        await undoPicture(page, picture, deadline);
    }
    await this.#facts?.clear();
  }

  /**
   * Reads what belongs to the moment of the first picture: its document, and elements and values as they are in it. The page itself is arranged for
   * no picture that is printed or moves.
   * @returns called once the page is arranged for its picture
   */
  async #beginPicture(
    { place, index = 0, options }: PictureToTake,
    deadline: number,
  ): Promise<PictureTask['onArranged']> {
    const [facts, values] = [this.#facts, this.#values];
    if (place !== 0 || index !== 0) return undefined;
    if (this.#options.saveHtml) this.#html = await readMarkup(boundedPage(this.session, deadline));
    const isArranged = options.format !== 'pdf' && options.animate === null && options.document !== 'html';
    if (!isArranged) await values?.read();
    if (facts === null && (values === null || !isArranged)) return undefined;
    return async (area) => {
      await facts?.readElements(area);
      if (isArranged) await values?.read();
    };
  }

  async #encode(pictures: TakenPictures): Promise<Taken> {
    if (this.#several) this.times.enter('encode', 85);
    return await this.deadlines.orEnd(pictures.all());
  }

  async #report(taken: Taken, document: DocumentState): Promise<Omit<Rendering, 'egressCountry' | 'extraction'>> {
    const page = this.#page;
    const { session, deadlines, deps, task, times } = this;
    const options = this.#options;
    const [{ picture }] = taken;
    const { content, width, height, diagnostics } = picture;
    const guard = await this.#guard;
    const warnings = [
      ...page.tolerance.warnings,
      ...(await warningsOf(page, options, { picture, missing: this.#missing })),
      ...((await (this.#fonts ?? substitutedFonts(page, options))) ?? []),
    ];
    const changed = options.explain || task.debug !== undefined ? await deadlines.orEnd(explain(page, guard)) : null;
    if (changed !== null) task.debug?.note({ step: 'changed', ...changed });
    if (options.inspectPage) times.enter('inspect', 90);
    const timeoutMs = Math.min(
      INSPECT_MS,
      Math.max(INSPECT_MIN_MS, deadlines.budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()),
    );
    const facts = this.#facts === null ? {} : await deadlines.orEnd(this.#facts.finish(document));
    const inspection = options.inspectPage
      ? { ...(await deadlines.orEnd(deps.inspect(session, { timeoutMs }))), ...facts }
      : null;
    const stages = times.stages(taken.length === 1 ? { picture: picture.timings } : {});
    task.onStages?.(stages);
    return {
      content,
      format: options.document === 'html' ? 'html' : options.format,
      captures: this.#several ? taken.map(toNamedPicture) : null,
      ...(picture.part === undefined ? {} : { part: picture.part }),
      width,
      height,
      finalUrl: finalUrl(session, document, options),
      blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
      warnings,
      changed,
      diagnostics,
      inspection,
      ...(this.#html === null ? {} : { html: this.#html }),
      ...((options.document ?? null) === null ? {} : { response: { status: document.response?.status ?? null } }),
      timings: timingsOf(stages),
    };
  }

  /** The time limit of a picture of the view, in ms by `monotonicNow`. */
  get #viewDeadline(): number {
    return Math.min(this.deadlines.endsAt, this.deadlines.budgetEndsAt + PICTURE_GRACE_MS);
  }

  async #idleAgain(): Promise<void> {
    if (this.#options.waitForIdle) await waitForIdle(this.#page, ADVANCE_AGAIN_MS);
  }

  async #answerBanners(): Promise<boolean> {
    const guard = await this.#guard;
    const banner = await this.deadlines.withinBudget(guard.answerBanners(this.deadlines.signal));
    const popups = await this.deadlines.withinBudget(guard.closePopups());
    return (banner !== TIMED_OUT && banner.outcome !== 'none') || (popups !== TIMED_OUT && popups > 0);
  }

  /** Called again after each wait that gave the page time to show another banner. */
  async #clearBanners(): Promise<void> {
    if (await this.#answerBanners()) await this.#idleAgain();
  }
}

/** Whether a picture may show more of a file than its first page. */
function showsMore({ fullPage, selector, clip, format, inspectPage }: CaptureOptions): boolean {
  return fullPage || selector !== null || clip !== null || format === 'pdf' || inspectPage;
}

function browserNotReady({ timeout }: Deadlines): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The browser was not ready for the page within \`timeout\` (${timeout} ms). It may be busy with other pages.`,
    details: { waited_for: 'browser' },
  });
}

async function openValues(page: OpenPage, rules: ExtractRules, toMarkdown: ToMarkdown): Promise<ValuesReader> {
  const { ValuesReader } = await import('./inspect/extract.js');
  return new ValuesReader(page, rules, toMarkdown);
}

/** Other captures do not load what reads facts. */
async function openFacts(page: OpenPage, annotate: boolean): Promise<FactsReader> {
  const { FactsReader } = await import('./inspect/facts-reader.js');
  return new FactsReader(page, annotate);
}

/**
 * Reloads the page in real time, for servers that refuse requests from a page whose clock is ahead.
 * @throws DocumentReplaced always
 */
async function loadInRealTime(page: OpenPage, document: DocumentState): Promise<never> {
  const { session, main, deadlines } = page;
  page.realTime = true;
  await session.cdp.send('Page.reload');
  const replaced = main.until(() => main.current !== document);
  await deadlines.withinBudget(replaced);
  throw new DocumentReplaced('the page is loaded again in real time');
}

function toNamedPicture({ name, options, picture, tolerated }: TakenPicture): NamedPicture {
  const { content, width, height, diagnostics } = picture;
  const warnings = [...tolerated, ...pictureWarnings(picture, options)];
  return { name: name ?? '', content, format: options.format, width, height, diagnostics, warnings };
}

/** The document's current address, including changes by scripts and the fragment. */
function finalUrl(session: PageSession, document: DocumentState, options: CaptureOptions): string {
  const current = session.page.url();
  return shownAddress(/^https?:/.test(current) ? current : document.address, options);
}
