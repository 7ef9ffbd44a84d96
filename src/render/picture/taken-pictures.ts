/** Takes several pictures of one stopped page, each as if it were the only one. */
import type { CaptureWarning } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { PICTURES_MAX_BYTES } from '../../contract/limits.js';
import { numbered } from '../../contract/page-loads.js';
import type { OpenPage } from '../page/open-page.js';
import { takeAnimation } from './animation.js';
import { boundedPage } from './bounded-page.js';
import type { Picture } from './picture.js';
import type { PlannedPicture } from './picture-groups.js';
import { takePicture } from './take-picture.js';

/** A picture that was taken, with what was tolerated for it. */
export interface TakenPicture {
  name: string | null;
  options: CaptureOptions;
  picture: Picture;
  tolerated: CaptureWarning[];
}

export type Taken = [TakenPicture, ...TakenPicture[]];

/** One picture to take: one of a group, or of one of the elements that a `selector_all` matches. */
export interface PictureToTake extends PlannedPicture {
  /** The number of visible matches of its selector before its element. */
  index?: number;
  /** Whether the page need not be scrolled for it. */
  isInView?: boolean;
}

/** Finds the elements of several pictures. If a selector matches none, it is missed later, as in a request for one picture. */
export async function findElements({ world }: OpenPage, pictures: readonly PlannedPicture[]): Promise<PictureToTake[]> {
  const found: PictureToTake[] = [];
  for (const picture of pictures) {
    const { all, name, options } = picture;
    const inView = options.selector === null ? [] : await world.call('element.survey', options.selector, all ?? 1);
    for (const [index, isInView] of (inView.length === 0 ? [false] : inView).entries()) {
      found.push({ ...picture, index, isInView, name: all === null ? name : numbered(name, index) });
    }
  }
  return found;
}

interface TakeHow {
  still: Parameters<typeof takePicture>[2];
  animation: Omit<Parameters<typeof takeAnimation>[2], 'animate'>;
}

export async function takeOne(
  page: OpenPage,
  { name, options, index }: PictureToTake,
  { still, animation }: TakeHow,
): Promise<TakenPicture> {
  const tolerated: CaptureWarning[] = [];
  const take = (wanted: CaptureOptions, how: TakeHow['still']) => {
    const { animate } = wanted;
    return animate === null ? takePicture(page, wanted, how) : takeAnimation(page, wanted, { ...animation, animate });
  };
  const picture = await take(options, index === undefined ? still : { ...still, index }).catch((error: unknown) => {
    // `tolerate` allows an element or clip that does not exist: the view is captured instead.
    const { warnings } = page.tolerance;
    const before = warnings.length;
    page.tolerance.orThrow(naming(error, name));
    tolerated.push(...warnings.slice(before));
    return take({ ...options, selector: null, clip: null }, { ...still, scroll: options.fullPage ? still.scroll : null });
  });
  return { name, options, picture, tolerated };
}

/** Pictures that were taken, of which the last two may still be encoded while the browser takes the next. */
export class TakenPictures {
  readonly #all: { place: number; taking: Promise<TakenPicture> }[] = [];
  #bytes: number;

  constructor(heldBytes: number) {
    this.#bytes = heldBytes;
  }

  /** Resolves once the browser has taken the picture, or has taken and encoded it if `take` does not report that. */
  async add({ place, name }: PictureToTake, take: (onShot: () => void) => Promise<TakenPicture>): Promise<void> {
    await this.#all.at(-2)?.taking;
    if (this.#bytes > PICTURES_MAX_BYTES) throw naming(tooManyBytes(), name);
    let onShot = (): void => {};
    const shot = new Promise<void>((resolve) => {
      onShot = resolve;
    });
    const taking = take(onShot).then((taken) => {
      this.#bytes += taken.picture.content.byteLength;
      return taken;
    });
    this.#all.push({ place, taking });
    await Promise.race([shot, taking]);
    // If another picture fails first, nobody waits for this one.
    taking.catch(() => undefined);
  }

  /** All of them, in the order of the request. */
  async all(): Promise<Taken> {
    const ordered = this.#all.toSorted((one, other) => one.place - other.place);
    const [first, ...others] = await Promise.all(ordered.map(({ taking }) => taking));
    if (first === undefined) throw new Error('a page load has no pictures');
    return [first, ...others];
  }
}

function tooManyBytes(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `The pictures before it have more than ${PICTURES_MAX_BYTES / 1_000_000} MB. Fewer or smaller ones may help.`,
    retriable: false,
    details: { check: 'bytes', required: PICTURES_MAX_BYTES },
  });
}

/** Undoes what was changed for a picture, so that the next one shows the page without it. */
export async function undoPicture({ session }: OpenPage, { kind, options }: PlannedPicture, deadline: number): Promise<void> {
  const page = boundedPage(session, deadline);
  if (options.omitBackground) await page.send('Emulation.setDefaultBackgroundColorOverride', {});
  if (kind === 'view' || kind === 'clip') return;
  await page.call('undo.restore');
}

/** Runs a step of one picture: its failure names the picture, and it notes what was tolerated. */
export async function noting(page: OpenPage, taken: Pick<TakenPicture, 'name' | 'tolerated'>, step: () => Promise<void>): Promise<void> {
  const { warnings } = page.tolerance;
  const before = warnings.length;
  await step().catch((error: unknown) => Promise.reject(naming(error, taken.name)));
  taken.tolerated.push(...warnings.slice(before));
}

/** Names the picture that an error is about, where there are several. */
function naming(error: unknown, name: string | null): unknown {
  if (!(error instanceof CaptureError) || name === null || error.details?.capture !== undefined) return error;
  const { code, status, retriable, message, details, cause } = error;
  return new CaptureError({
    code,
    status,
    retriable,
    message: `Picture "${name}": ${message}`,
    details: { ...details, capture: name },
    cause,
  });
}
