import { allIn, pageScroller, trees } from './dom.js';
import { queryTrees } from './dom-cache.js';
import { endsInTime, passFrames, sleep } from './frames.js';
import { hideCarets } from './freeze.js';

/** Shows a page at one moment after another, for an animated picture. Moves videos and animated images, which our clock cannot drive. */

/** The bytes of an image of the page. */
export interface ImageBytes {
  url: string;
  mimeType: string;
  base64: string;
}

/** A moment of an animated picture. */
export interface Moment {
  /** The time since the first picture, in ms. */
  atMs: number;
  /** Scroll progress, from 0 to 1; null leaves the page where it is. */
  scrolled: number | null;
}

interface MovingImage {
  element: HTMLImageElement;
  frames: { url: string; endsAt: number }[];
  frame: string;
}

/** Further images, and larger ones, show their first frame. */
const IMAGES_MAX = 20;
const IMAGE_FRAMES_MAX = 200;
/** All decoded frames of one image. */
const IMAGE_PIXELS_MAX = 30_000_000;
const DECODE_MAX_MS = 2_000;
const SEEK_MAX_MS = 300;
const FRAME_MAX_MS = 250;
const TYPES = /^image\/(gif|webp|png|apng|avif)$/;
const DATA_URL = /^data:(image\/[a-z]+);base64,/i;
/** As browsers treat a shorter one. */
const FRAME_MIN_MS = 20;
const FRAME_DEFAULT_MS = 100;

const images: MovingImage[] = [];
let videos: HTMLVideoElement[] = [];
/** The page's time, in seconds, when they were taken over. */
let videosFromS = 0;

/** The addresses of images that may be animated, other than data: URLs, at most 20. None where the browser cannot take them apart. */
export function imageUrls(): string[] {
  if (!canDecode()) return [];
  const urls = shownImages().map(({ currentSrc }) => currentSrc);
  return [...new Set(urls)].filter((url) => /^https?:/.test(url)).slice(0, IMAGES_MAX);
}

/**
 * Takes over videos and images, which no clock of ours moves, and hides carets. The browser shows an image's first frame alone.
 * @param options.fromMs the page's time so far, in ms
 */
export async function begin({ fromMs, bytes }: { fromMs: number; bytes: ImageBytes[] }): Promise<void> {
  const all = trees(document, { frames: true });
  hideCarets(all);
  const media = all.flatMap((tree) => allIn(tree, 'video,audio') as HTMLMediaElement[]);
  const playing = media.filter(
    (one) => one.localName === 'video' && (one.autoplay || !one.paused) && Number.isFinite(one.duration),
  );
  videos = playing as HTMLVideoElement[];
  videosFromS = fromMs / 1_000;
  // Called on the prototype, since elements in a frame are instances of that frame's classes.
  for (const one of media) HTMLMediaElement.prototype.pause.call(one);
  await endsInTime(takeOverImages(bytes), DECODE_MAX_MS);
  await show({ atMs: 0, scrolled: null });
}

/** Scrolls, so that the page can react before the next moment is shown. */
export async function scrollTo(share: number): Promise<void> {
  moveTo(share);
  await passFrames(1, FRAME_MAX_MS);
  // Observers are called at the end of the frame's task.
  await sleep(0);
}

/** Shows videos and images as they are at a moment. The picture itself waits for a frame. */
export async function show({ atMs, scrolled }: Moment): Promise<void> {
  for (const image of images) showFrame(image, atMs);
  await Promise.all(videos.map((video) => seek(video, atMs)));
  // The page's own scripts may have scrolled it.
  if (scrolled !== null) moveTo(scrolled);
}

function moveTo(share: number): void {
  const scroller = pageScroller();
  const way = scroller.scrollHeight - scroller.clientHeight;
  scroller.scrollTo({ top: Math.round(way * share), behavior: 'instant' });
}

function shownImages(): HTMLImageElement[] {
  return queryTrees('img', { frames: true }).filter(
    (one) => (one as HTMLImageElement).naturalWidth > 0,
  ) as HTMLImageElement[];
}

async function takeOverImages(bytes: ImageBytes[]): Promise<void> {
  const known = new Map(bytes.map((one) => [one.url, one]));
  const framesByUrl = new Map<string, Promise<MovingImage['frames']>>();
  const elements = shownImages();
  for (const element of elements) {
    const { currentSrc: url } = element;
    const data = known.get(url) ?? dataOf(url);
    if (data !== null && !framesByUrl.has(url) && framesByUrl.size < IMAGES_MAX)
      framesByUrl.set(
        url,
        framesOf(data).catch(() => []),
      );
  }
  for (const element of elements) {
    const frames = (await framesByUrl.get(element.currentSrc)) ?? [];
    if (frames.length > 1) images.push({ element, frames, frame: '' });
  }
}

function dataOf(url: string): ImageBytes | null {
  const [head = '', mimeType = ''] = DATA_URL.exec(url) ?? [];
  return head === '' ? null : { url, mimeType, base64: url.slice(head.length) };
}

/** WebCodecs needs a secure context. */
function canDecode(): boolean {
  return 'ImageDecoder' in globalThis;
}

/** The frames of an animated image; none of another one. */
async function framesOf({ mimeType: type, base64 }: ImageBytes): Promise<MovingImage['frames']> {
  const data = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  // The beginning says that it is a GIF, or that it is animated.
  const mayMove = /^GIF8|ANIM|acTL|avis/.test(String.fromCharCode(...data.subarray(0, 1_024)));
  if (!TYPES.test(type) || !mayMove || !canDecode()) return [];
  const decoder = new ImageDecoder({ data, type });
  try {
    await decoder.tracks.ready;
    await decoder.completed;
    const count = decoder.tracks.selectedTrack?.frameCount ?? 0;
    const frames: MovingImage['frames'] = [];
    for (let frameIndex = 0; frameIndex < Math.min(count, IMAGE_FRAMES_MAX); frameIndex++) {
      const { image } = await decoder.decode({ frameIndex });
      const ms = (image.duration ?? 0) / 1_000;
      const { displayWidth, displayHeight } = image;
      if (displayWidth * displayHeight * count > IMAGE_PIXELS_MAX) {
        image.close();
        return [];
      }
      const endsAt = (frames.at(-1)?.endsAt ?? 0) + (ms < FRAME_MIN_MS ? FRAME_DEFAULT_MS : ms);
      frames.push({ url: await urlOf(image), endsAt });
      image.close();
    }
    return frames;
  } finally {
    decoder.close();
  }
}

/** An address that is loaded and decoded, so that it is painted at once. */
async function urlOf(frame: VideoFrame): Promise<string> {
  const canvas = new OffscreenCanvas(frame.displayWidth, frame.displayHeight);
  canvas.getContext('2d')?.drawImage(frame, 0, 0);
  const url = URL.createObjectURL(await canvas.convertToBlob());
  const loaded = new Image();
  loaded.src = url;
  // The page's content policy may forbid it. The image then shows its first frame.
  await loaded.decode();
  kept.push(loaded);
  return url;
}

/** Keeps what is decoded in the browser's memory. */
const kept: HTMLImageElement[] = [];

function showFrame(image: MovingImage, atMs: number): void {
  const { element, frames } = image;
  const at = atMs % (frames.at(-1)?.endsAt ?? 1);
  const frame = frames.find(({ endsAt }) => at < endsAt);
  if (frame === undefined || frame.url === image.frame) return;
  image.frame = frame.url;
  element.style.setProperty('content', `url("${frame.url}")`, 'important');
}

async function seek(element: HTMLVideoElement, atMs: number): Promise<void> {
  const { duration, loop, defaultPlaybackRate } = element;
  const at = videosFromS + (atMs / 1_000) * defaultPlaybackRate;
  const time = loop ? at % duration : Math.min(at, duration);
  if (element.currentTime === time) return;
  const sought = new Promise((resolve) => element.addEventListener('seeked', resolve, { once: true }));
  element.currentTime = time;
  await endsInTime(sought, SEEK_MAX_MS);
}
