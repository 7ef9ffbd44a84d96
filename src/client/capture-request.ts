import type { CaptureRequest as Fields } from './wire.js';

/** A capture of a web page. */
export interface CaptureUrlRequest extends Omit<Fields, 'html' | 'base_url'> {
  html?: undefined;
  base_url?: undefined;
}

/** A capture of a document that is part of the request. */
export interface CaptureHtmlRequest extends Omit<Fields, 'url' | 'html'> {
  /** HTML document, at most 196,608 bytes. */
  html: string;
  url?: undefined;
}

/** A capture request. Exactly one of `url` and `html` is required. */
export type CaptureRequest = CaptureUrlRequest | CaptureHtmlRequest;
