import type { Rendering } from '../../src/render/capture.js';

/** One page that somebody reported to a screenshot or PDF tool, rebuilt as small as it still shows the fault; its key is the behavior that is right. */
export interface Report {
  /** The tracker and number, or the address, where people describe it. */
  source: string;
  /** The HTML of the page, or of several files by path (`/` is the page). `/npm/<package>/<file>` is served from the installed packages. */
  page: string | Record<string, string>;
  /** The request, without its URL. The view is 800 × 600 at density 1 and the format png unless it says otherwise. */
  request?: Record<string, unknown>;
  /** Judges the capture; throws when it is wrong. */
  right(rendering: Rendering): void | Promise<void>;
}
