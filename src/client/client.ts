/**
 * `stillframe/client`: a typed client of the API. It runs wherever `fetch` and Web Crypto exist, has no dependencies, and knows only the
 * contract of the service: `wire.ts` is generated from it.
 */
export type { CallOptions, JobQuery, StillframeOptions, SubmitOptions } from './call-options.js';
export type { CaptureHtmlRequest, CaptureRequest, CaptureUrlRequest } from './capture-request.js';
export type { Downloadable, PictureStream } from './download.js';
export { type LinkRequest, type LinkSigning, signedLink } from './signed-link.js';
export { Stillframe } from './stillframe.js';
export { type ClientErrorCode, StillframeError, type StillframeErrorCode } from './stillframe-error.js';
export type { Fetch } from './transport.js';
export { verifyWebhook, type WebhookEvent, type WebhookRequest } from './verify-webhook.js';
export type { Picture } from './wait-for-job.js';
export type { Delivery } from './webhook-delivery.js';
export type {
  AcceptedJob,
  CaptureCompletedEvent,
  CaptureData,
  CaptureError,
  CaptureFailedEvent,
  Health,
  JobPage,
  JobSnapshot,
  Usage,
  WebhookDelivery,
} from './wire.js';
