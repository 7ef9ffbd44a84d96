/**
 * `stillframe/client`: a typed client of the API. It runs wherever `fetch` and Web Crypto exist, has no dependencies, and knows only the
 * contract of the service: `wire.ts` is generated from it.
 */
export type {
  BatchRequest,
  CallOptions,
  CaptureFilesRequest,
  CaptureHtmlRequest,
  CaptureRequest,
  CaptureTemplateRequest,
  CaptureUrlRequest,
  CompareRequest,
  JobQuery,
  PageQuery,
  PdfRequest,
  StillframeOptions,
  SubmitOptions,
  WatchRequest,
} from './call-options.js';
export type { Downloadable, PictureStream } from './download.js';
export type { Delivery, Picture } from './jobs.js';
export type { MadePdf } from './made-pdf.js';
export {
  type LinkRequest,
  type LinkSigning,
  signedLink,
  verifyWebhook,
  type WebhookEvent,
  type WebhookRequest,
} from './signatures.js';
export { type RemovedJob, Stillframe } from './stillframe.js';
export { type ClientErrorCode, StillframeError, type StillframeErrorCode } from './stillframe-error.js';
export type { Fetch } from './transport.js';
export type {
  AcceptedJob,
  Batch,
  BatchEndedEvent,
  BatchPage,
  CaptureCompletedEvent,
  CaptureData,
  CaptureError,
  CaptureFailedEvent,
  Comparison,
  Health,
  JobPage,
  JobSnapshot,
  Template,
  TemplateEntry,
  Usage,
  Watch,
  WatchMessage,
  WatchRun,
  WatchRunWithMessages,
  WebhookDelivery,
} from './wire.js';
