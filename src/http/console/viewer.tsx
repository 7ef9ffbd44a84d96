/** Shows stored pictures: as thumbnails, large with zoom, and two on top of each other with a slider. */
import type { CaptureData } from '../../contract/capture-data.js';
import { HTML_JOB_URL } from '../../contract/capture-request.js';
import type { JobSnapshot } from '../../contract/job.js';
import { Marked } from './components.js';

/** Address of a stored picture, relative to the pages of the console. */
export function pictureAt(artifact: string): string {
  return `pictures/${artifact}`;
}

/** Whether a result is no picture that a page can show. */
export function isDocument(format: string): boolean {
  return format === 'pdf' || format === 'mp4' || format === 'html';
}

/** The address that a job is about, as people write it. */
export function titleOf({ url, result }: JobSnapshot): string {
  if (url === HTML_JOB_URL) return 'HTML document';
  const shown = result?.outcome.ok === true ? result.outcome.data.url : url;
  return shown.replace(/^https?:\/\//, '').replace(/^([^/?#]+)\/$/, '$1');
}

/** The picture of a job; null for a PDF or video, and for a job that has not succeeded. */
export function pictureOf({ result }: JobSnapshot): CaptureData | null {
  return result?.outcome.ok === true && !isDocument(result.outcome.data.format) ? result.outcome.data : null;
}

/** A job's picture in small, or what it is instead. It repeats what stands beside it, so it has no text for screen readers. */
function Thumb({ job }: { job: JobSnapshot }) {
  const picture = pictureOf(job);
  if (picture !== null) {
    return (
      <span class={isWhole(picture) ? 'thumb' : 'thumb part'}>
        <img src={`thumbnails/${picture.artifact}`} alt="" loading="lazy" decoding="async" />
      </span>
    );
  }
  const outcome = job.result?.outcome;
  const [look, text] =
    outcome === undefined ? ['busy', '…'] : outcome.ok ? ['pdf', outcome.data.format.toUpperCase()] : ['failed', '✕'];
  return (
    <span class={`thumb none ${look}`} aria-hidden="true">
      {text}
    </span>
  );
}

/** The upper part of a job's card in a gallery: its picture, the link to it and its failure. */
export function ShotHead({ job, prefix = '' }: { job: JobSnapshot; prefix?: string }) {
  const { outcome } = job.result ?? {};
  return (
    <>
      <Thumb job={job} />
      <a href={`job?id=${job.id}`} title={outcome?.ok === true ? outcome.data.url : job.url}>
        {prefix}
        {titleOf(job)}
      </a>
      {outcome?.ok === false ? (
        <p class="hint">
          <Marked text={outcome.error.message} />
        </p>
      ) : null}
    </>
  );
}

/** Whether it fills a thumbnail; a banner or a small element does not. */
function isWhole({ width, height }: CaptureData): boolean {
  return width >= 320 && width / height < 2;
}

interface ViewerProps {
  src: string;
  alt: string;
  /** In px, where they are known. */
  width?: number;
  height?: number;
  /** Output px per CSS px of the page, which 100 % is measured in. */
  density: number;
}

/** A picture as wide as the page, which scripts can zoom (in-browser/islands.ts). */
export function Viewer({ src, alt, width, height, density }: ViewerProps) {
  return (
    <div class="viewer" data-viewer={String(density)}>
      <div class="tools">
        <span class="zoom" data-tools hidden>
          <button type="button" data-zoom="out" aria-label="Zoom out">
            −
          </button>
          <output aria-live="polite" />
          <button type="button" data-zoom="in" aria-label="Zoom in">
            +
          </button>
          <button type="button" data-zoom="fit">
            Fit
          </button>
          <button type="button" data-zoom="full">
            100 %
          </button>
        </span>
        <a href={src}>Open the file</a>
      </div>
      <section class="picture" tabindex={0} aria-label="Picture; plus, minus and 0 zoom">
        <img src={src} alt={alt} width={width} height={height} />
      </section>
    </div>
  );
}

/** The viewer of a captured picture. */
export function viewerOf({ artifact, finalUrl, width, height, diagnostics }: CaptureData) {
  const alt = `What ${finalUrl} looked like`;
  return <Viewer src={pictureAt(artifact)} {...{ alt, width, height, density: diagnostics.deviceScaleFactor }} />;
}

/** Two pictures beside each other; scripts put them on top of each other, with a slider between them. */
export function BeforeAfter({ before, after }: { before: string; after: string }) {
  return (
    <div class="before-after" data-slider>
      <div class="sides">
        <figure>
          <figcaption>Before</figcaption>
          <img src={pictureAt(before)} alt="The earlier capture" loading="lazy" />
        </figure>
        <figure>
          <figcaption>After</figcaption>
          <img src={pictureAt(after)} alt="The later capture" loading="lazy" />
        </figure>
        <input
          type="range"
          min="0"
          max="100"
          value="50"
          step="0.5"
          aria-label="Part of the width that shows the earlier picture"
          hidden
        />
      </div>
    </div>
  );
}
